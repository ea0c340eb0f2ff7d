import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { launch, openPage, type Watched } from './browser.ts'
import { givePassword } from './people.ts'
import { picture } from './sound.ts'

/** A writer sends a broadcast to 300 contacts, from the first draft to the results. */

const READERS = 300
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

let posthaste: TestAppliance
let browser: Browser
let desk: Watched
let page: Page

const at = (path: string) => `${posthaste.url}/dashboard${path}`
const field = (name: string) => page.getByRole('textbox', { name, exact: true })
const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
const follow = (name: string) => page.getByRole('link', { name, exact: true }).click()
const chip = (word: string) => page.locator('.page-title').getByText(word, { exact: true }).waitFor()
const inDialog = (name: string) => page.getByRole('dialog').getByRole('button', { name, exact: true }).click()
const saved = () => page.getByText('All changes saved', { exact: true }).waitFor()
async function made(path: string, body: unknown): Promise<string> {
  const { status, body: answer } = await posthaste.call<{ id: string }>('POST', path, body)
  expect([status, answer]).toEqual([201, expect.objectContaining({}) as unknown])
  return answer.id
}

/** Returns a draft that is ready to send. */
const draftFor = (segment: string, subject: string) =>
  made('/broadcasts', {
    segment_id: segment,
    from: `news@${posthaste.domain}`,
    subject,
    html: '<p>Hi</p><a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>',
  })
/** Records a person's click, as a visit of the link does. */
async function click(emailId: string, link: string): Promise<void> {
  const { storage } = posthaste.appliance
  const now = Date.now()
  const { deliveryId } = (await storage.trackedEmail({ emailId }, now))!
  const who = { ipAddress: '', timestamp: new Date(now).toISOString(), userAgent: 'a browser' }
  const hit = {
    id: newId(now),
    teamId: posthaste.teamId,
    emailId,
    deliveryId,
    type: 'email.clicked',
  } as const
  await storage.recordHit({ ...hit, data: { click: { ...who, link } } }, now)
}

interface Sent {
  id: string
  to: string[]
  subject: string
  last_event: string
}
/** Returns the broadcast's emails that arrived. */
async function arrived(): Promise<Sent[]> {
  const found: Sent[] = []
  for (let after = ''; ;) {
    const { body } = await posthaste.call<{ data: Sent[]; has_more: boolean }>(
      'GET',
      `/emails?limit=100${after}`,
    )
    found.push(...body.data)
    if (!body.has_more) break
    after = `&after=${body.data.at(-1)!.id}`
  }
  return found.filter((one) => !one.subject.startsWith('[Test]') && one.last_event === 'delivered')
}

beforeAll(async () => {
  posthaste = await startAppliance()
  const segment = await made('/segments', { name: 'Readers' })
  // Every third contact has no name.
  for (let n = 0; n < READERS; n++)
    await made('/contacts', {
      email: `reader${n}@customer.test`,
      segments: [segment],
      ...(n % 3 > 0 && { first_name: `Reader ${n}` }),
    })
  await made('/contacts', { email: 'gone@customer.test', segments: [segment], unsubscribed: true })
  browser = await launch()
  desk = await openPage(browser)
  page = desk.page
  await page.goto(at('/broadcasts?new=1'))
  await givePassword(page, { email: posthaste.ownerEmail, password: posthaste.ownerPassword })
})
afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

test('creates a broadcast with an image, a variable and a fallback', async () => {
  await field('Subject').fill('News')
  await page.getByLabel('Segment').selectOption({ label: 'Readers (301 contacts)' })
  await press('Create broadcast')
  await chip('draft')
  await field('Subject').fill('News for {{{contact.first_name|you}}}')
  await field('HTML').fill(
    '<p>Dear {{{contact.first_name|reader}}}</p><a href="https://shop.test/?a=1&amp;b=2">Shop</a>',
  )
  const file = { name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(PNG, 'base64') }
  await page.getByLabel('Image file').setInputFiles(file)
  await expect.poll(() => field('HTML').inputValue()).toContain('<img src="')
  await saved()
})

test('sends a test email with sample values or the values of a contact', async () => {
  await follow('Send test')
  await field('To').fill('writer@customer.test')
  await inDialog('Send test')
  await page.getByText('Test sent to writer@customer.test.', { exact: true }).waitFor()
  await follow('Send test')
  await field('To').fill('writer@customer.test')
  await field('With the values of').fill('nobody@customer.test')
  await inDialog('Send test')
  await page.getByRole('alert').filter({ hasText: 'Contact not found' }).waitFor()
  await field('With the values of').fill('reader0@customer.test')
  await inDialog('Send test')
  const subjects = async () =>
    (await posthaste.call<{ data: Sent[] }>('GET', '/emails')).body.data.map((one) => one.subject).sort()
  await expect.poll(subjects).toEqual(['[Test] News for Ada', '[Test] News for you'])
})

test('the review blocks a broadcast without an unsubscribe link, and shows how many contacts will get it', async () => {
  await follow('Review and send')
  await page.getByRole('heading', { name: '300 contacts will get it' }).waitFor()
  await page.getByText('1 unsubscribed from everything').waitFor()
  await page.getByText('The email has no unsubscribe link.').waitFor()
  await page.getByText('100 of 300 have no value.').first().waitFor()
  expect(await page.getByRole('link', { name: 'Send broadcast…' }).count()).toBe(0)
  await follow('Content')
  await press('Unsubscribe link')
  await saved()
  await follow('Review and send')
  await page.getByRole('link', { name: 'Send broadcast…' }).waitFor()
})

test('the review lists the links and can limit the sending rate', async () => {
  const links = page.getByRole('region', { name: 'Links' })
  await links.getByRole('heading', { name: '2 links' }).waitFor()
  await links.getByRole('link', { name: 'https://shop.test/?a=1&b=2' }).waitFor()
  await links.getByText('the page where each recipient can unsubscribe').waitFor()
  await page.getByText('As fast as the limits of the mailbox providers allow.').waitFor()
  await follow('Limit rate')
  await field('Emails per hour').fill('many')
  await inDialog('Save rate')
  const mistake = 'Enter a whole number from 1 to 1,000,000, or nothing.'
  await page.getByRole('alert').filter({ hasText: mistake }).waitFor()
  await field('Emails per hour').fill('10')
  await inDialog('Save rate')
  await page.getByText('At most 10 emails per hour, spread evenly.').waitFor()
  await page.getByText(/^Done about \w+ \d\d:\d\d\./).waitFor()
  await picture(page, 'broadcast-review-rate')
  await follow('Change rate')
  await field('Emails per hour').fill('')
  await inDialog('Save rate')
  await page.getByText('As fast as the limits of the mailbox providers allow.').waitFor()
})

test('undoes sending a broadcast, then schedules it and cancels the schedule', async () => {
  await follow('Send broadcast…')
  await page.getByRole('dialog', { name: 'Send to 300 contacts?' }).waitFor()
  await inDialog('Send broadcast')
  await page.getByText(/^Sending starts in \d+ s$/).waitFor()
  await press('Undo')
  await chip('draft')
  await follow('Review and send')
  await follow('Send broadcast…')
  await page.getByRole('radio', { name: 'At a time' }).check()
  await inDialog('Schedule broadcast')
  await chip('scheduled')
  await picture(page, 'broadcast-scheduled')
  await press('Cancel schedule')
  await chip('draft')
  expect(await arrived()).toEqual([])
})

test('pauses and resumes a broadcast while sending, and each contact gets one email with their own values', async () => {
  const lane = 'auto~customer.test'
  // Nothing is sent until the test has seen the pause.
  expect((await posthaste.call('POST', `/lanes/${lane}/pause`, {})).status).toBe(200)
  await follow('Review and send')
  await follow('Send broadcast…')
  await inDialog('Send broadcast')
  await picture(page, 'broadcast-undo')
  await press('Send immediately')
  await chip('sending')
  await picture(page, 'broadcast-sending')
  await follow('Limit rate')
  await field('Emails per hour').fill('3600')
  await inDialog('Save rate')
  await page.getByText('At most 3,600 emails per hour, spread evenly.').waitFor()
  await picture(page, 'broadcast-sending-rate')
  await follow('Change rate')
  await field('Emails per hour').fill('')
  await inDialog('Save rate')
  await page.getByText('At most 3,600 emails per hour, spread evenly.').waitFor({ state: 'detached' })
  await press('Pause broadcast')
  await page.getByText(/^Broadcast paused\./).waitFor()
  await chip('paused')
  await page.getByText('Somebody paused it.').waitFor()
  await picture(page, 'broadcast-paused')
  const here = page.url()
  await page.goto(at('/broadcasts'))
  const now = page.getByRole('region', { name: 'Sending now' })
  await now.getByText('Somebody paused it.').waitFor()
  await now.getByRole('button', { name: /^Resume / }).click()
  await now.getByRole('button', { name: /^Pause / }).click()
  await now.getByRole('button', { name: /^Resume / }).waitFor()
  await picture(page, 'broadcasts-sending')
  const segment = page.getByRole('combobox', { name: 'Segment' })
  await segment.selectOption('Readers')
  await page.waitForURL(/[?&]segment=[0-9a-f-]{36}/)
  await page.reload()
  await expect.poll(() => segment.locator('option:checked').innerText()).toBe('Readers')
  await page.goto(here)
  await chip('paused')
  expect((await posthaste.call('POST', `/lanes/${lane}/resume`)).status).toBe(200)
  expect(await arrived()).toEqual([])
  await press('Resume broadcast')
  await chip('sent')
  await expect.poll(async () => (await arrived()).length).toBe(READERS)
  const subjects = new Map((await arrived()).map(({ to, subject }) => [to[0], subject]))
  expect(subjects.size).toBe(READERS)
  for (let n = 0; n < READERS; n++)
    expect(subjects.get(`reader${n}@customer.test`)).toBe(n % 3 > 0 ? `News for Reader ${n}` : 'News for you')
})

test('shows the results of a broadcast by provider and recipient', async () => {
  await page.getByText('300 of 300 sent (100%)').waitFor()
  await page.getByText('100% of sent').waitFor()
  await page.getByText('Left out: 1 unsubscribed from everything').waitFor()
  const provider = page.getByRole('region', { name: 'Providers' }).locator('tbody tr')
  await expect.poll(() => provider.allInnerTexts()).toEqual([expect.stringContaining('300') as unknown])
  await follow('Recipients')
  const file = page.getByRole('link', { name: 'Export all' })
  expect(await file.getAttribute('href')).toMatch(/^\/broadcasts\/[0-9a-f-]{36}\/recipients\/export\.csv$/)
  await page.getByLabel('What happened').selectOption('bounced')
  await page.getByRole('heading', { name: 'No recipients here' }).waitFor()
  await page.getByLabel('What happened').selectOption('delivered')
  await page.getByRole('searchbox').fill('reader299@')
  await page.keyboard.press('Enter')
  await follow('reader299@customer.test')
  await page.getByRole('heading', { name: 'News for Reader 299' }).waitFor()
  await page.goBack()
  await page.getByRole('searchbox').waitFor()
})

test('the content of a sent broadcast shows the number of clicks beside each link', async () => {
  const sent = (await arrived()).filter(({ to }) => to[0] !== 'reader0@customer.test').slice(0, 2)
  for (const { id: emailId } of sent) await click(emailId, 'https://shop.test/?a=1&b=2')
  await follow('Links')
  await page.getByRole('cell', { name: 'https://shop.test/?a=1&b=2' }).waitFor()
  await follow('Content')
  await page.frameLocator('iframe').getByText('2 clicked', { exact: true }).waitFor()
  await page.goto(at('/broadcasts'))
  await page.getByRole('cell', { name: '300 of 300' }).waitFor()
})

test('shows the results of the first hours, and creates a draft for contacts who did not click', async () => {
  await page.locator('a[data-row]').first().click()
  const hours = page.getByRole('region', { name: 'First 48 hours' })
  await hours.getByRole('img', { name: 'First hour: 300 delivered, 0 opened, 2 clicked' }).waitFor()
  expect(await hours.getByRole('row', { name: /^delivered/ }).innerText()).toContain('300')
  await picture(page, 'broadcast-first-hours')
  await press('New broadcast to those who didn’t click')
  await page.getByRole('heading', { name: 'News (not clicked)' }).waitFor()
  await follow('Review and send')
  await page.getByRole('heading', { name: '298 contacts will get it' }).waitFor()
  await page.getByText('2 in an excluded segment').waitFor()
})

let many: string
test('confirming a large broadcast requires typing the number of contacts', async () => {
  many = await made('/segments', { name: 'Many' })
  for (const from of [0, 500]) {
    const emails = Array.from({ length: 500 }, (_, n) => `many${from + n}@customer.test`)
    const added = await posthaste.call('POST', '/contacts/batch/add', { emails, segment_ids: [many] })
    expect(added.status).toBe(200)
  }
  const id = await draftFor(many, 'Large')
  await page.goto(at(`/broadcasts/${id}?tab=review&do=send`))
  const typed = field('Type 1,000 to confirm')
  await typed.fill('999')
  await inDialog('Send broadcast')
  await page.getByRole('alert').filter({ hasText: 'Type 1,000 to confirm.' }).waitFor()
  await typed.fill('1000')
  await inDialog('Send broadcast')
  await page.getByText(/^Sending starts in \d+ s$/).waitFor()
  await press('Undo')
  await chip('draft')
})

test('shows a missed schedule and the reason for an automatic pause, and cancels a broadcast while sending', async () => {
  const { storage } = posthaste.appliance
  const { teamId } = posthaste
  const id = await draftFor(many, 'Never')
  // As after the server was down for longer than that.
  const twoHoursAgo = Date.now() - 2 * 3_600_000
  expect(await storage.scheduleBroadcast({ teamId, id, at: twoHoursAgo }, twoHoursAgo)).toBe('done')
  await page.goto(at(`/broadcasts/${id}`))
  await page.getByRole('heading', { name: 'Waiting for your decision' }).waitFor()
  await page.getByText('Its time passed more than an hour ago').waitFor()
  await page.getByRole('button', { name: 'Send now', exact: true }).waitFor()
  await picture(page, 'broadcast-missed')
  await press('Back to draft')
  await chip('draft')
  // The first 1000 emails are sent separately, so the broadcast can't finish before it is paused.
  expect(await posthaste.call('POST', `/broadcasts/${id}/send`)).toMatchObject({ status: 200 })
  const brake = { teamId, id, reason: 'bounces', figures: { count: 60, of: 1000 } } as const
  expect(await storage.pauseBroadcast(brake, Date.now())).toBe('done')
  await page.getByText('60 of the last 1000 emails bounced, which harms your reputation.').waitFor()
  await chip('paused')
  await picture(page, 'broadcast-brake')
  const held = { google: { count: 24, of: 60 } }
  expect(await storage.holdProviders({ teamId, id, held }, Date.now())).toBe('done')
  await page.getByText('google refused 24 of the last 60 emails as spam').waitFor()
  await picture(page, 'broadcast-held-provider')
  await press('Resume for Google')
  await page.getByText('google refused 24').waitFor({ state: 'detached' })
  await follow('Cancel broadcast')
  await page.getByText('Emails already sent aren’t affected. You can’t resume it').waitFor()
  await inDialog('Cancel broadcast')
  await chip('canceled')
  await page.getByText('Nobody else gets it').waitFor()
  await picture(page, 'broadcast-canceled')
  expect(desk.errors).toEqual([])
})
