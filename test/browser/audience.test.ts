import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { launch, openPage, type Watched } from './browser.ts'
import { picture } from './sound.ts'
import { addMember, givePassword, type Person } from './people.ts'

/** Tests the audience pages in a real browser, on a real appliance. */

let posthaste: TestAppliance
let browser: Browser
let desk: Watched
let page: Page

const at = (path: string) => `${posthaste.url}/dashboard${path}`
const made = async (path: string, body: unknown) =>
  (await posthaste.call<{ id: string }>('POST', path, body)).body.id
const contact = async (email: string) =>
  (await posthaste.call<Record<string, unknown>>('GET', `/contacts/${email}`)).body
const row = (email: string) => page.locator('tbody tr').filter({ hasText: email })
const field = (name: string) => page.getByRole('textbox', { name, exact: true })
const toast = (text: string) => page.getByText(text, { exact: true }).waitFor()

beforeAll(async () => {
  posthaste = await startAppliance()
  browser = await launch()
  desk = await openPage(browser)
  page = desk.page
  await page.goto(at('/audience'))
  await givePassword(page, { email: posthaste.ownerEmail, password: posthaste.ownerPassword })
})
afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

test('an empty audience shows an empty state in each tab', async () => {
  await page.getByRole('heading', { name: 'No contacts yet' }).waitFor()
  expect(new URL(page.url()).pathname).toBe('/dashboard/audience/contacts')
  const menu = page.getByRole('navigation', { name: 'Main' })
  expect(await menu.getByRole('link', { name: 'Audience' }).getAttribute('aria-current')).toBe('page')
  for (const [tab, title] of [
    ['Segments', 'No segments yet'],
    ['Topics', 'No topics yet'],
    ['Properties', 'No properties yet'],
    ['Forms', 'No forms yet'],
    ['Imports', 'No imports yet'],
  ] as const) {
    await page.getByRole('navigation', { name: 'Audience' }).getByRole('link', { name: tab }).click()
    await page.getByRole('heading', { name: title }).waitFor()
  }
})

test('creates a segment, a topic and a property, and rejects an invalid key', async () => {
  await page.goto(at('/audience/properties?new=1'))
  await field('Key').fill('loyalty-points')
  await page.getByRole('radio', { name: 'Number' }).check()
  await page.getByRole('button', { name: 'Create property' }).click()
  await page.getByRole('alert').filter({ hasText: 'Invalid `key` field: 1 to 50 ASCII letters' }).waitFor()
  await field('Key').fill('loyalty_points')
  await page.getByRole('button', { name: 'Create property' }).click()
  await row('loyalty_points').getByText('no fallback').waitFor()

  await page.goto(at('/audience/segments?new=1'))
  await field('Name').fill('Newsletter')
  await page.getByRole('dialog').getByRole('button', { name: 'Create segment' }).click()
  await page.getByRole('heading', { name: 'No contacts in this segment' }).waitFor()

  await made('/contacts', { email: 'out@reader.example', unsubscribed: true })
  await page.goto(at('/audience/topics?new=1'))
  const warning = page.getByRole('status').filter({ hasText: 'You can’t change this later.' })
  await warning.getByText('Nobody gets it now.').waitFor()
  await field('Name').fill('Offers')
  // The page of unsubscribe links, as contacts see it who have chosen nothing.
  const offers = page
    .frameLocator('iframe[title="Preview of the unsubscribe page"]')
    .getByRole('checkbox', { name: 'Offers' })
  await expect.poll(() => offers.isChecked()).toBe(false)
  await page.getByRole('radio', { name: 'Everyone, until they opt out' }).check()
  await expect.poll(() => offers.isChecked()).toBe(true)
  await warning.getByText('Your 1 contact and those added later get it until they opt out.').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Create topic' }).click()
  await row('Offers').getByText('everyone gets it').waitFor()
})

test('checks pasted addresses line by line and adds them to a segment', async () => {
  await made('/suppressions', { email: 'gone@reader.example' })
  await page.goto(at('/audience/contacts?new=1'))
  const text = 'Ada <ada@reader.example>, ben@reader.example\nout@reader.example;gone@reader.example\nnobody'
  await page.getByLabel('Addresses').fill(text)
  const verdicts = page
    .getByRole('list', { name: 'Addresses and what is known about them' })
    .getByRole('listitem')
  await expect.poll(() => verdicts.count()).toBe(5)
  expect((await verdicts.allInnerTexts()).map((one) => one.replaceAll(/\s+/g, ' ').trim())).toEqual([
    'ada@reader.example new',
    'ben@reader.example new',
    'out@reader.example stays unsubscribed',
    'gone@reader.example suppressed',
    'nobody not an address',
  ])
  await page.getByRole('dialog').getByLabel('Segment').selectOption({ label: 'Newsletter' })
  await page.getByRole('button', { name: 'Add 4 contacts' }).click()
  await toast('3 contacts added, 1 known already.')
  await row('gone@reader.example').getByText('suppressed').waitFor()
  await row('ada@reader.example').getByText('Newsletter').waitFor()
  const growth = page.getByRole('region', { name: 'Growth' })
  await growth.getByText('4 added in 30 days').waitFor()
  await growth.getByText('1 unsubscribed in 30 days').waitFor()
  await picture(page, 'contacts')
  expect(await contact('out@reader.example')).toMatchObject({ unsubscribed: true })
})

test('finds contacts by text and filters, which the URL keeps', async () => {
  await page.goto(at('/audience/contacts'))
  await page.getByRole('searchbox').fill('ADA')
  await page.keyboard.press('Enter')
  await expect.poll(() => page.locator('a[data-row]').allInnerTexts()).toEqual(['ada@reader.example'])
  await page.getByRole('searchbox').fill('')
  await page.getByRole('button', { name: 'Unsubscribed 1' }).click()
  await expect.poll(() => page.locator('a[data-row]').allInnerTexts()).toEqual(['out@reader.example'])
  expect(new URL(page.url()).search).toBe('?status=unsubscribed')
  await page.reload()
  await row('out@reader.example').getByText('unsubscribed').waitFor()
  await page.goto(at('/audience/contacts?q=nobody'))
  await page.getByText('No matching contacts.').waitFor()
})

test('lists count the reachable contacts of each segment, and the contacts with a value for each property', async () => {
  const value = { properties: { loyalty_points: 3 } }
  await posthaste.call('PATCH', '/contacts/ben@reader.example', value)
  const rule = { type: 'rule', field: 'contact.properties.loyalty_points', operator: 'gt', value: 2 }
  const id = await made('/segments', { name: 'Loyal', filter: rule })
  await page.goto(at('/audience/segments'))
  const cells = (name: string) => page.locator('tr', { hasText: name }).locator('td').allInnerTexts()
  await expect.poll(async () => (await cells('Newsletter')).slice(1, 3)).toEqual(['4', '2'])
  await expect.poll(async () => (await cells('Loyal')).slice(1, 3)).toEqual(['1', '1'])
  await picture(page, 'segments')
  await page.goto(at('/audience/properties'))
  await expect
    .poll(async () => (await cells('loyalty_points')).slice(0, 6))
    .toEqual(['loyalty_points', 'number', 'no fallback', '3', '25%', '1 segment'])
  await page.getByTitle('1 contact of 4').waitFor()
  await picture(page, 'properties')
  await posthaste.call('DELETE', `/segments/${id}`)
})

test('a segment with rules counts matching contacts while editing, and contacts cannot be added to it manually', async () => {
  await page.goto(at('/audience/segments?new=1'))
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('radio', { name: 'Contacts that meet rules' }).check()
  await dialog.getByText('0 contacts now').waitFor()
  await field('Name').fill('Readers called a…')
  await dialog.getByLabel('Field of rule 1').selectOption({ label: 'Address' })
  await dialog.getByText('Fill in each rule to count contacts.').waitFor()
  await dialog.getByLabel('Operator of rule 1').selectOption({ label: 'starts with' })
  await dialog.getByLabel('Value of rule 1').fill('A')
  await dialog.getByText('1 contact now').waitFor()
  await dialog.getByRole('button', { name: 'Add rule' }).click()
  await dialog.getByLabel('Field of rule 2').selectOption({ label: 'Unsubscribed from everything' })
  await dialog.getByLabel('A contact meets').selectOption({ label: 'at least one rule' })
  await dialog.getByText('2 contacts now').waitFor()
  await dialog.getByRole('button', { name: 'Create segment' }).click()
  await page.getByRole('heading', { name: 'Readers called a…' }).waitFor()
  await row('ada@reader.example').waitFor()
  await row('out@reader.example').waitFor()

  await page.getByRole('link', { name: 'Edit', exact: true }).click()
  await dialog.getByRole('button', { name: 'Remove rule 2' }).click()
  await dialog.getByText('1 contact now').waitFor()
  await dialog.getByRole('button', { name: 'Edit segment' }).click()
  await expect.poll(() => page.locator('a[data-row]').allInnerTexts()).toEqual(['ada@reader.example'])
  await page.goto(at('/audience/contacts?new=1'))
  const options = page.getByRole('dialog').getByLabel('Segment').locator('option')
  await expect.poll(() => options.allInnerTexts()).toEqual(['None', 'Newsletter'])
})

test('builds groups of rules by keyboard, describes them in words, and an edit stores them unchanged', async () => {
  await page.goto(at('/audience/segments?new=1'))
  const dialog = page.getByRole('dialog')
  const focused = () => page.evaluate<string>('document.activeElement.getAttribute("aria-label") ?? ""')
  await dialog.getByRole('radio', { name: 'Contacts that meet rules' }).check()
  await field('Name').fill('Ada, or out and suppressed')
  await dialog.getByLabel('Field of rule 1').selectOption({ label: 'Address' })
  await dialog.getByLabel('Value of rule 1').fill('ada@reader.example')
  await dialog.getByText('1 contact now').waitFor()
  await dialog.getByRole('button', { name: 'Add group', exact: true }).press('Enter')
  await expect.poll(focused).toBe('Field of rule 2.1')
  await dialog.getByLabel('Field of rule 2.1').selectOption({ label: 'Unsubscribed from everything' })
  await dialog.getByRole('button', { name: 'Add group to group 2' }).press('Enter')
  await expect.poll(focused).toBe('Field of rule 2.2.1')
  await dialog.getByLabel('Field of rule 2.2.1').selectOption({ label: 'On the suppression list' })
  await dialog.getByRole('button', { name: 'Add rule to group 2.2' }).press('Enter')
  await expect.poll(focused).toBe('Field of rule 2.2.2')
  await dialog.getByLabel('Value of rule 2.2.2').fill('out@')
  await dialog.getByRole('button', { name: 'Remove rule 2.2.2' }).press('Enter')
  await expect.poll(focused).toBe('Field of rule 2.2.1')
  await dialog.getByText('0 contacts now').waitFor()
  await dialog.getByLabel('A contact meets').selectOption({ label: 'at least one rule' })
  await dialog.getByText('3 contacts now').waitFor()
  await dialog.getByLabel('Group 2 meets').selectOption({ label: 'all of these' })
  await dialog.getByText('1 contact now').waitFor()
  await picture(page, 'segment-groups')
  await dialog.getByRole('button', { name: 'Create segment' }).click()
  await page.getByRole('heading', { name: 'Ada, or out and suppressed' }).waitFor()
  const shown = page.getByRole('region', { name: 'Rules' })
  await shown.getByText('Contacts that meet at least one of:').waitFor()
  const lines = (await shown.innerText()).split('\n').filter((line) => line.trim() !== '')
  expect(lines).toEqual([
    'Contacts that meet at least one of:',
    'Address is “ada@reader.example”',
    'All of:',
    'Unsubscribed from everything: yes',
    'On the suppression list: yes',
  ])
  await picture(page, 'segment-page-rules')
  const id = new URL(page.url()).pathname.split('/').at(-1)!
  const stored = async () => (await posthaste.call<{ filter: object }>('GET', `/segments/${id}`)).body.filter
  const before = await stored()
  expect(before).toMatchObject({ type: 'or', rules: [{ type: 'rule' }, { type: 'and', rules: [{}, {}] }] })
  await page.getByRole('link', { name: 'Edit', exact: true }).click()
  await field('Name').fill('Renamed')
  await dialog.getByRole('button', { name: 'Edit segment' }).click()
  await page.getByRole('heading', { name: 'Renamed' }).waitFor()
  expect(await stored()).toEqual(before)
  await page.getByRole('link', { name: 'Edit', exact: true }).click()
  await dialog.getByRole('button', { name: 'Remove group 2', exact: true }).press('Enter')
  await expect.poll(focused).toBe('Field of rule 1')
  await dialog.getByText('1 contact now').waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await posthaste.call('DELETE', `/segments/${id}`)
})

const csvOf = (name: string, text: string) => ({ name, mimeType: 'text/csv', buffer: Buffer.from(text) })

test('maps, checks and imports a file, and the list shows the import afterwards', async () => {
  const topic = await made('/topics', { name: 'Import news', default_subscription: 'opt_out' })
  await page.goto(at('/audience/imports?new=1'))
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('File').setInputFiles(csvOf('without.csv', 'Vorname\nZoe\n'))
  await dialog.getByRole('button', { name: 'Check file' }).click()
  await dialog.getByText('CSV missing required email column').waitFor()
  const text = 'E-Mail;Vorname;Tarif\nzoe@import.example;Zoe;pro\nnobody;Max;free\n'
  await dialog.getByLabel('File').setInputFiles(csvOf('leser.csv', text))
  await dialog.getByText('Read as UTF-8, separated by semicolons.').waitFor()
  expect(await dialog.getByText('CSV missing required email column').count()).toBe(0)
  await dialog.getByLabel('What Vorname becomes').selectOption({ label: 'First name' })
  await dialog.getByLabel('What Tarif becomes').selectOption({ label: 'Property' })
  await dialog.getByLabel('Key of the property for Tarif').fill('tarif')
  await dialog.getByLabel('Topic').selectOption({ label: 'Import news' })
  await dialog.getByLabel('Consent').fill('Signed up at the fair')
  await picture(page, 'import-columns')
  await dialog.getByRole('button', { name: 'Check file' }).click()
  await dialog.getByText('1 new · 0 updated · 0 skipped · 1 failed').waitFor()
  await dialog.getByText('New properties: tarif').waitFor()
  await dialog.getByText('Line 3: not an email address (nobody, Max, free)').waitFor()
  await picture(page, 'import-summary')
  expect((await posthaste.call('GET', '/contacts/zoe@import.example')).status).toBe(404)
  await dialog.getByRole('button', { name: 'Start import' }).click()
  await toast('Import started. It continues when you leave this page.')
  await page.goto(at('/audience/contacts'))
  await page.goto(at('/audience/imports'))
  await page.getByText('completed', { exact: true }).waitFor()
  await page.getByText('Consent: Signed up at the fair').waitFor()
  const { body } = await posthaste.call<{ data: object[] }>('GET', '/contacts/zoe@import.example/topics')
  expect(body.data).toContainEqual(
    expect.objectContaining({ id: topic, subscription: 'opt_in', chosen_by: 'import' }),
  )
  await picture(page, 'imports')
  const rejects = page.getByRole('link', { name: 'Download rejected rows (1)' })
  expect(await rejects.getAttribute('href')).toMatch(/^\/contacts\/imports\/.*\/rejects\.csv$/)
  expect(await contact('zoe@import.example')).toMatchObject({
    first_name: 'Zoe',
    properties: { tarif: { type: 'string', value: 'pro' } },
  })
})

test('undoes an import after a confirmation that states what is deleted', async () => {
  await page.goto(at('/audience/imports'))
  await page.getByRole('link', { name: 'Undo import…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Undo the import of leser.csv?' })
  await dialog.getByText('This deletes what it created, even if changed since: 1 contact.').waitFor()
  await picture(page, 'import-undo')
  await dialog.getByRole('button', { name: 'Undo import' }).click()
  await toast('1 contact removed.')
  await page.getByText('Undone: 1 contact removed').waitFor()
  await page.getByRole('link', { name: 'Undo import…' }).waitFor({ state: 'detached' })
  expect((await posthaste.call('GET', '/contacts/zoe@import.example')).status).toBe(404)
})

test('adds selected contacts to a segment after a preview', async () => {
  await made('/segments', { name: 'Regulars' })
  await page.goto(at('/audience/contacts?q=reader'))
  await page.getByRole('checkbox', { name: 'Select ada@reader.example' }).check()
  await page.getByRole('checkbox', { name: 'Select ben@reader.example' }).check()
  await page.getByText('2 contacts selected').waitFor()
  await page.getByRole('link', { name: 'Add to segment…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('This affects 2 contacts: ben@reader.example, ada@reader.example').waitFor()
  await dialog.getByLabel('Segment').selectOption({ label: 'Regulars' })
  await dialog.getByRole('button', { name: 'Add to segment' }).click()
  await toast('2 contacts added to the segment.')
  await row('ada@reader.example').getByTitle('Newsletter, Regulars').waitFor()
})

test('deletes all matching contacts once their number is typed', async () => {
  const counted = async () =>
    (await posthaste.call<{ contacts: number }>('GET', '/contacts/counts')).body.contacts
  const before = await counted()
  const emails = Array.from({ length: 60 }, (_, i) => `bulk${i}@many.example`)
  await made('/contacts/batch/add', { emails })
  await page.goto(at('/audience/contacts?q=many.example'))
  await page.getByRole('checkbox', { name: 'Select all on this page' }).check()
  await page.getByText('50 contacts selected').waitFor()
  await page.getByRole('button', { name: 'Select all matching' }).click()
  await page.getByRole('link', { name: 'Delete…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('This affects 60 contacts').waitFor()
  const button = dialog.getByRole('button', { name: 'Delete' })
  expect(await button.getAttribute('aria-disabled')).toBe('true')
  await dialog.getByLabel('Type 60 to confirm').fill('60')
  await button.click()
  await toast('60 contacts deleted.')
  await page.getByText('No matching contacts.').waitFor()
  expect(await counted()).toBe(before)
})

test('the list links to an export of all contacts', async () => {
  await page.goto(at('/audience/contacts'))
  const link = page.getByRole('link', { name: 'Export all' })
  expect(await link.getAttribute('href')).toBe('/contacts/export.csv')
})

test('edits the values, topics and opt-outs of a contact in place', async () => {
  await page.goto(at('/audience/contacts'))
  await page.getByRole('link', { name: 'ada@reader.example' }).click()
  await page.getByText('Gets broadcasts to their segments').waitFor()

  const file = await page.getByRole('link', { name: 'Export data' }).getAttribute('href')
  expect((await posthaste.call<object>('GET', file!)).body).toMatchObject({ address: 'ada@reader.example' })
  await page.getByRole('button', { name: 'Edit loyalty_points' }).click()
  await page.getByRole('textbox', { name: 'loyalty_points' }).fill('many')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('loyalty_points must be a number.').waitFor()
  await page.getByRole('textbox', { name: 'loyalty_points' }).fill('12')
  await page.keyboard.press('Enter')
  await page.getByText('12', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Edit First name' }).click()
  await page.getByRole('textbox', { name: 'First name' }).fill('Ada')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Ada', exact: true }).waitFor()
  expect(await contact('ada@reader.example')).toMatchObject({
    first_name: 'Ada',
    properties: { loyalty_points: { type: 'number', value: 12 } },
  })

  await page.getByText('Topic default: everyone').waitFor()
  await page.getByRole('button', { name: 'Unsubscribe from Offers' }).click()
  await page.getByText('Set by a team member').waitFor()
  await page.getByText('Unsubscribed from Offers by a team member').waitFor()

  await page.getByRole('link', { name: 'Unsubscribe', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Unsubscribe' }).click()
  await page.getByText('Gets no broadcasts: unsubscribed by a team member').waitFor()
  expect(await contact('ada@reader.example')).toMatchObject({ unsubscribed_by: 'operator' })
  await page.getByRole('link', { name: 'Subscribe again' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Subscribe again' }).click()
  await page.getByText('Gets broadcasts to their segments').waitFor()

  await page.getByRole('button', { name: 'Remove from Regulars' }).click()
  await page.getByRole('button', { name: 'Remove from Regulars' }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Suppress address' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Suppress address' }).click()
  await page.getByText('Gets no mail at all').waitFor()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.keyboard.press('Escape')
  await page.getByRole('heading', { name: 'Audience', exact: true }).waitFor()
})

test('the timeline of a contact shows mail to it', async () => {
  const email = await posthaste.send({ to: 'ben@reader.example', subject: 'Your order' })
  const { id } = await contact('ben@reader.example')
  await page.goto(at(`/audience/contacts/${String(id)}`))
  await page.getByRole('link', { name: 'Your order' }).click()
  await page.waitForURL(at(`/emails/${email}`))
})

test('a viewer sees contacts, but no way to change them, and changes are rejected', async () => {
  const person: Person = { email: 'viewer@people.example', password: 'viewers walk along the quiet quay' }
  await addMember(posthaste, 'viewer', person)
  const other = await openPage(browser)
  await other.page.goto(at('/audience/contacts'))
  await givePassword(other.page, person)
  await other.page.getByRole('link', { name: 'ada@reader.example' }).waitFor()
  await other.page.getByText('Only developers and above can change contacts.').waitFor()
  expect(await other.page.getByRole('checkbox').count()).toBe(0)
  expect(await other.page.getByRole('link', { name: 'Export all' }).count()).toBe(0)
  await other.page.getByRole('link', { name: 'ada@reader.example' }).click()
  await other.page.getByText('Only developers and above can change this contact.').waitFor()
  expect(await other.page.getByRole('button', { name: /^Edit/ }).count()).toBe(0)
  const status = await other.page.evaluate<number>(`fetch('/contacts/batch/change', {
    method: 'POST',
    headers: { 'x-requested-with': 'dashboard', 'content-type': 'application/json' },
    body: JSON.stringify({ action: 'delete', filter: {} }),
  }).then(({ status }) => status)`)
  expect(status).toBe(403)
  expect(other.errors).toEqual([])
})

test('no page caused a script error', () => {
  expect(desk.errors).toEqual([])
})
