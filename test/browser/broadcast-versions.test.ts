import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { launch, openPage, type Watched } from './browser.ts'
import { addMember, givePassword, type Person } from './people.ts'

/** Tests the versions of a broadcast's draft in a real browser, on a real appliance. */

let posthaste: TestAppliance
let browser: Browser
let desk: Watched
let page: Page
let id: string

const at = (path: string) => `${posthaste.url}/dashboard${path}`
const field = (name: string) => page.getByRole('textbox', { name, exact: true })
const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
const open = (tab: string) =>
  page.getByRole('navigation', { name: 'Broadcast' }).getByRole('link', { name: tab }).click()
const saved = () => page.getByText('All changes saved', { exact: true }).waitFor()
const rows = () => page.locator('tbody tr')
async function made(path: string, body: object): Promise<string> {
  const { status, body: answer } = await posthaste.call<{ id: string }>('POST', path, body)
  expect([status, answer]).toMatchObject([201, {}])
  return answer.id
}
const stored = async () => (await posthaste.call<Record<string, unknown>>('GET', `/broadcasts/${id}`)).body
/** Changes the draft with an API key, as another author than the person. */
const changeElsewhere = async (body: object) =>
  expect((await posthaste.call('PATCH', `/broadcasts/${id}`, body)).status).toBe(200)

beforeAll(async () => {
  posthaste = await startAppliance()
  browser = await launch()
  desk = await openPage(browser)
  page = desk.page
  const segment = await made('/segments', { name: 'Readers' })
  id = await made('/broadcasts', {
    segment_id: segment,
    from: `news@${posthaste.domain}`,
    subject: 'First',
    html: '<p>First text</p>',
  })
  await page.goto(at(`/broadcasts/${id}`))
  await givePassword(page, { email: posthaste.ownerEmail, password: posthaste.ownerPassword })
})
afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

test('the versions of a draft show their author, time and content', async () => {
  await field('Subject').fill('Second')
  await field('HTML').fill('<p>Second text</p>')
  await saved()
  await expect.poll(async () => (await stored()).html).toBe('<p>Second text</p>')
  await open('Versions')
  await expect.poll(() => rows().count()).toBe(2)
  await rows().nth(0).getByText(posthaste.ownerEmail).waitFor()
  await rows().nth(0).getByText('current').waitFor()
  await rows().nth(1).getByRole('link').click()
  const dialog = page.getByRole('dialog', { name: 'Version of this broadcast' })
  await dialog.frameLocator('iframe').getByText('First text').waitFor()
  await dialog.getByText('First', { exact: true }).waitFor()
})

test('restores a version, and the editor continues with it', async () => {
  await press('Restore as draft')
  await page.getByText('Version restored. It’s the draft now.', { exact: true }).waitFor()
  expect(await stored()).toMatchObject({ subject: 'First', html: '<p>First text</p>' })
  await expect.poll(() => rows().count()).toBe(3)
  await open('Content')
  await expect.poll(() => field('HTML').inputValue()).toBe('<p>First text</p>')
  await field('Subject').fill('Third')
  await saved()
  await expect.poll(async () => (await stored()).subject).toBe('Third')
})

test('restoring a version warns if another user changed the draft in the meantime', async () => {
  await open('Versions')
  await rows().last().getByRole('link').click()
  await page.getByRole('button', { name: 'Restore as draft' }).waitFor()
  await changeElsewhere({ subject: 'Theirs' })
  await press('Restore as draft')
  await page.getByRole('alert').filter({ hasText: 'Somebody else changed this draft.' }).waitFor()
  expect(await stored()).toMatchObject({ subject: 'Theirs' })
  await press('Restore as draft')
  await page.getByText('Version restored. It’s the draft now.', { exact: true }).first().waitFor()
  await expect.poll(async () => (await stored()).subject).toBe('First')
})

test('a viewer can read versions, but not restore them', async () => {
  const person: Person = { email: 'viewer@people.example', password: 'viewers walk along the quiet quay' }
  await addMember(posthaste, 'viewer', person)
  const other = await openPage(browser)
  await other.page.goto(at(`/broadcasts/${id}?tab=versions`))
  await givePassword(other.page, person)
  await other.page.locator('tbody tr').last().getByRole('link').click()
  await other.page.getByRole('dialog').frameLocator('iframe').getByText('First text').waitFor()
  expect(await other.page.getByRole('button', { name: 'Restore as draft' }).count()).toBe(0)
  expect(other.errors).toEqual([])
  expect(desk.errors).toEqual([])
})
