import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { launch, openPage, type Watched } from './browser.ts'
import { addMember, givePassword, type Person } from './people.ts'

/** Tests the broadcast pages in a real browser, on a real appliance. */

let posthaste: TestAppliance
let browser: Browser
let desk: Watched
let page: Page
let segment: string

const at = (path: string) => `${posthaste.url}/dashboard${path}`
const field = (name: string) => page.getByRole('textbox', { name, exact: true })
const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
const open = (tab: string) =>
  page.getByRole('navigation', { name: 'Broadcast' }).getByRole('link', { name: tab }).click()
const toast = (text: string) => page.getByText(text, { exact: true }).waitFor()
const saved = () => page.getByText('All changes saved', { exact: true }).waitFor()
const made = async (path: string, body: unknown) =>
  (await posthaste.call<{ id: string }>('POST', path, body)).body.id
const idHere = () => /broadcasts\/([0-9a-f-]{36})/.exec(page.url())![1]!
const stored = async (id = idHere()) =>
  (await posthaste.call<Record<string, unknown>>('GET', `/broadcasts/${id}`)).body

beforeAll(async () => {
  posthaste = await startAppliance()
  browser = await launch()
  desk = await openPage(browser)
  page = desk.page
  await page.goto(at('/broadcasts'))
  await givePassword(page, { email: posthaste.ownerEmail, password: posthaste.ownerPassword })
})
afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

test('without a segment, the page suggests creating one first', async () => {
  await page.getByRole('heading', { name: 'No broadcasts yet' }).waitFor()
  await page.getByRole('link', { name: 'create a segment' }).click()
  await page.waitForURL(/audience\/segments\?new=1/)
  segment = await made('/segments', { name: 'Readers' })
  await made('/contacts', {
    email: 'ada@customer.test',
    first_name: 'Ada',
    segments: [segment],
  })
})

test('creates a broadcast, and saves its content automatically', async () => {
  await page.goto(at('/broadcasts'))
  await page.getByRole('link', { name: 'Create your first broadcast' }).click()
  await field('Subject').fill('Spring')
  await page.getByLabel('Segment').selectOption({ label: 'Readers (1 contact)' })
  await press('Create broadcast')
  await page.getByRole('heading', { name: 'Spring' }).waitFor()
  await saved()
  expect(await stored()).toMatchObject({
    status: 'draft',
    from: expect.stringContaining('<news@') as unknown,
  })
  await field('Subject').fill('Spring for {{{contact.first_name|you}}}')
  await field('Preview text').fill('Six new books')
  await field('HTML').fill('<p>Dear {{{contact.first_name|reader}}}, {{{oops}')
  await page.getByText('the tag that starts with').waitFor()
  await field('HTML').fill('<p>Dear {{{contact.first_name|reader}}}</p>')
  await saved()
  expect(await stored()).toMatchObject({
    subject: 'Spring for {{{contact.first_name|you}}}',
    preview_text: 'Six new books',
    text: null,
    html: '<p>Dear {{{contact.first_name|reader}}}</p>',
  })
})

test('shows how inboxes display the subject and preview text while typing, with character counts', async () => {
  const phone = page.getByRole('group', { name: 'On a phone' })
  await phone.getByText('Spring for Ada', { exact: true }).waitFor()
  await phone.getByText('Six new books', { exact: true }).waitFor()
  // Merge tags count as their values.
  await page.getByText('14 characters. Phones show about 40.').waitFor()
  await page.getByText('13 characters. Mail apps show about 90 after the subject.').waitFor()
  await field('Preview text').fill('')
  await page.getByRole('group', { name: 'On a computer' }).getByText('Dear Ada', { exact: true }).waitFor()
  await field('Preview text').fill('Six new books')
  await saved()
})

test('updates the recipient count of a draft when its segment changes', async () => {
  const count = page.getByRole('status', { name: 'Who will get it' })
  await count.getByText('1 of 1 will get it').waitFor()
  const busy = await made('/segments', { name: 'Busy' })
  await made('/contacts', { email: 'gone@customer.test', unsubscribed: true, segments: [busy] })
  await made('/contacts', { email: 'here@customer.test', segments: [busy] })
  await page.reload()
  await page.getByLabel('Who will get it').getByText('1 of 1 will get it').waitFor()
  await open('Settings')
  await page.locator('select[name=segment]').selectOption({ label: 'Busy (2 contacts)' })
  await count.getByText('1 of 2 will get it').waitFor()
  await count.getByText('1 unsubscribed from everything').waitFor()
  await page.locator('select[name=segment]').selectOption({ label: 'Readers (1 contact)' })
  await count.getByText('1 of 1 will get it').waitFor()
  await open('Content')
})

test('previews a broadcast as a chosen contact', async () => {
  const look = page.getByRole('region', { name: 'Preview' })
  await look.getByText('Spring for Ada', { exact: true }).waitFor()
  await made('/contacts', { email: 'nobody@customer.test' })
  await page.getByRole('button', { name: /^Preview as: / }).click()
  await page.getByRole('combobox').fill('nobody@customer.test')
  await page.keyboard.press('Enter')
  await look.getByText('Spring for you', { exact: true }).waitFor()
  await page.frameLocator('iframe').getByText('Dear reader').waitFor()
})

test('the settings of a broadcast set its name, Reply-To, topic and excluded segments', async () => {
  const others = await made('/segments', { name: 'Buyers' })
  const topic = await made('/topics', { name: 'Offers', default_subscription: 'opt_in' })
  await page.reload()
  await open('Settings')
  await field('Name').fill('Spring offers')
  await field('Reply to').fill('ada@customer.test, shop@customer.test')
  await page.getByLabel('Topic').selectOption({ label: 'Offers' })
  await page.getByRole('checkbox', { name: /^Buyers/ }).check()
  await page.getByRole('heading', { name: 'Spring offers' }).waitFor()
  await saved()
  expect(await stored()).toMatchObject({
    name: 'Spring offers',
    topic_id: topic,
    exclude_segment_ids: [others],
    reply_to: ['ada@customer.test', 'shop@customer.test'],
  })
})

test('does not overwrite another user’s changes without asking', async () => {
  const change = (subject: string) => posthaste.call('PATCH', `/broadcasts/${idHere()}`, { subject })
  await change('Theirs')
  await open('Content')
  await field('Subject').fill('Mine')
  await page.getByRole('heading', { name: 'Somebody else changed this draft' }).waitFor()
  expect(await stored()).toMatchObject({ subject: 'Theirs' })
  await press('Load their version')
  await expect.poll(() => field('Subject').inputValue()).toBe('Theirs')
  await change('Theirs again')
  await field('Subject').fill('Mine')
  await press('Overwrite with mine')
  await saved()
  expect(await stored()).toMatchObject({ subject: 'Mine', name: 'Spring offers' })
})

test('uploads an image into the HTML, and shows it in the preview', async () => {
  const png =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  await field('HTML').fill('')
  const file = { name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(png, 'base64') }
  await page.getByLabel('Image file').setInputFiles(file)
  await expect
    .poll(() => field('HTML').inputValue())
    .toMatch(/^<img src="http.*\/i\/[0-9a-f]{64}\.png" width="1" alt="">$/)
  const image = page.frameLocator('iframe').locator('img')
  await expect.poll(() => image.getAttribute('src')).toMatch(/^data:image\/png;base64,/)
  await saved()
})

test('duplicates, finds and deletes a broadcast', async () => {
  await press('Duplicate')
  await page.getByRole('heading', { name: 'Spring offers (copy)' }).waitFor()
  await page.goto(at('/broadcasts'))
  await page.getByRole('searchbox').fill('copy')
  await page.keyboard.press('Enter')
  const rows = () => page.locator('a[data-row]').allInnerTexts()
  await expect.poll(rows).toEqual(['Spring offers (copy)'])
  await page.getByLabel('Status').selectOption('sent')
  await page.getByRole('heading', { name: 'No matching broadcasts' }).waitFor()
  await page.getByLabel('Status').selectOption('draft')
  await page.locator('a[data-row]').click()
  await page.getByRole('link', { name: 'Delete broadcast' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete broadcast' }).click()
  await toast('Broadcast deleted.')
  await expect.poll(rows).toEqual(['Spring offers'])
})

test('keyboard shortcuts in the list create, edit and delete broadcasts, and the help lists them', async () => {
  await made('/broadcasts', {
    segment_id: segment,
    from: `news@${posthaste.domain}`,
    subject: 'Later',
    html: '<a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>',
    send: true,
    scheduled_at: 'in 1 day',
  })
  await page.goto(at('/broadcasts'))
  const row = (name: string) => page.locator('a[data-row]', { hasText: name })
  await row('Later').waitFor()
  await page.keyboard.press('?')
  const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  await help.getByText('Delete the broadcast of the row, after a confirmation').waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('n')
  await page.getByRole('dialog', { name: 'Create broadcast' }).waitFor()
  await page.keyboard.press('Escape')
  await row('Spring offers').focus()
  await page.keyboard.press('e')
  await page.getByRole('heading', { name: 'Spring offers' }).waitFor()
  await page.goto(at('/broadcasts'))
  await row('Later').focus()
  await page.keyboard.press('Backspace')
  const dialog = page.getByRole('dialog', { name: 'Delete Later?' })
  await dialog.getByText('It won’t be sent.').waitFor()
  expect(await dialog.getByRole('button', { name: 'Delete broadcast' }).isDisabled()).toBe(true)
  await field('Type Later to confirm').fill('Later')
  await dialog.getByRole('button', { name: 'Delete broadcast' }).click()
  await toast('Broadcast deleted.')
  await expect.poll(() => page.locator('a[data-row]').allInnerTexts()).toEqual(['Spring offers'])
})

test('a viewer can see broadcasts, but not change them', async () => {
  const person: Person = { email: 'viewer@people.example', password: 'viewers walk along the quiet quay' }
  await addMember(posthaste, 'viewer', person)
  const other = await openPage(browser)
  await other.page.goto(at('/broadcasts'))
  await givePassword(other.page, person)
  await other.page.getByText('Only developers and above can create broadcasts.').waitFor()
  await other.page.locator('a[data-row]').click()
  await other.page.getByText('Only developers and above can change and send broadcasts.').waitFor()
  expect(await other.page.getByRole('textbox', { name: 'HTML' }).isDisabled()).toBe(true)
  expect(await other.page.getByRole('button', { name: 'Duplicate' }).count()).toBe(0)
  expect(other.errors).toEqual([])
  expect(desk.errors).toEqual([])
})
