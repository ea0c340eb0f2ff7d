import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { findings, loadAxe } from './accessibility.ts'
import { launch, openPage, type Watched } from './browser.ts'
import { givePassword } from './people.ts'
import { sound } from './sound.ts'

/** A writer adds a variant to a broadcast, reviews and sends the A/B test, compares the results and chooses the winner. */

const READERS = 40

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
const call = async <T>(method: string, path: string, body?: object): Promise<T> => {
  const answer = await posthaste.call<T>(method, path, body)
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  return answer.body
}

/** Checks the page as others are checked, with axe-core, too. */
async function checked(name: string): Promise<void> {
  await sound(page, name)
  expect(await findings(page)).toEqual([])
  await page.emulateMedia({ colorScheme: null })
  await page.setViewportSize({ width: 1280, height: 800 })
}

interface Variant {
  from_name: string | null
  subject: string | null
  html: string | null
}
interface Draft {
  subject: string
  html: string
  status: string
  ab_test: { share: number; wait_hours: number | null; variants: Variant[] } | null
}
const stored = () => call<Draft>('GET', `/broadcasts/${id}`)

beforeAll(async () => {
  posthaste = await startAppliance()
  const { data } = await call<{ data: { id: string; name: string }[] }>('GET', '/domains')
  const domain = data.find(({ name }) => name === posthaste.domain)!
  await call('PATCH', `/domains/${domain.id}`, { click_tracking: true })
  const segment = await call<{ id: string }>('POST', '/segments', { name: 'Readers' })
  const emails = Array.from({ length: READERS }, (_, n) => `reader${n}@customer.test`)
  await call('POST', '/contacts/batch/add', { emails, segment_ids: [segment.id] })
  const draft = await call<{ id: string }>('POST', '/broadcasts', {
    segment_id: segment.id,
    name: 'Spring',
    from: `Books <news@${posthaste.domain}>`,
    subject: 'Spring books',
    html: '<p>New books</p><a href="https://shop.test/">Shop</a> <a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>',
  })
  id = draft.id
  browser = await launch()
  desk = await openPage(browser)
  page = desk.page
  await loadAxe(desk.context)
  await page.goto(at(`/broadcasts/${id}`))
  await givePassword(page, { email: posthaste.ownerEmail, password: posthaste.ownerPassword })
})
afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

test('a variant starts as variant A, and only what is changed is its own', async () => {
  await press('Start A/B test')
  await page.getByText('What you don’t change is the same as in variant A.').waitFor()
  expect(await field('Subject').inputValue()).toBe('Spring books')
  await field('Subject').fill('Ten books for spring')
  await field('Sender name').fill('Grace from Books')
  await saved()
  await expect
    .poll(async () => (await stored()).ab_test?.variants)
    .toMatchObject([{ from_name: 'Grace from Books', subject: 'Ten books for spring', html: null }])
  await checked('broadcast-variant')
  await field('HTML').fill(
    '<a href="https://shop.test/">Shop</a> <a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>',
  )
  await expect.poll(async () => (await stored()).ab_test?.variants[0]?.html).toContain('shop.test')
  await press('Use the content of variant A')
  await expect.poll(async () => (await stored()).ab_test?.variants[0]?.html).toBe(null)
  expect(await field('HTML').inputValue()).toContain('New books')
  await press('Variant A')
  expect(await field('Subject').inputValue()).toBe('Spring books')
  await page.getByLabel('Recipients of the test').selectOption({ label: '50%' })
  await page.getByLabel('Wait for clicks').selectOption({ label: '8 hours' })
  await expect.poll(async () => (await stored()).ab_test).toMatchObject({ share: 50, wait_hours: 8 })
  await checked('broadcast-variants')
})

test('a variant can be added and removed', async () => {
  await press('Add variant')
  await press('Remove variant C')
  await expect.poll(async () => (await stored()).ab_test?.variants.length).toBe(1)
  await press('Variant B')
  expect(await field('Subject').inputValue()).toBe('Ten books for spring')
})

test('a test email shows the variant that is open', async () => {
  await page.getByRole('link', { name: 'Send test' }).click()
  await page.getByRole('dialog', { name: 'Send test of variant B' }).waitFor()
  await field('To').fill('writer@customer.test')
  await page.getByRole('dialog').getByRole('button', { name: 'Send test' }).click()
  await page.getByText('Test sent to writer@customer.test.').waitFor()
  const { data } = await call<{ data: { subject: string }[] }>('GET', '/emails?limit=1')
  expect(data[0]!.subject).toBe('[Test] Ten books for spring')
})

test('the review says how the test goes, and that few contacts get it', async () => {
  await open('Review and send')
  await page.getByText('50% get one of 2 variants, about 10 contacts each.').waitFor()
  await page
    .getByText('About 10 contacts get each variant of the test. Their clicks may say little.')
    .waitFor()
  await checked('broadcast-variants-review')
})

/** Records a person's click on an email of each of the first `count` recipients of a variant. */
async function click(subject: string, count: number): Promise<void> {
  const { data } = await call<{ data: { id: string; subject: string }[] }>(
    'GET',
    `/emails?broadcast_id=${id}&limit=100`,
  )
  const { storage } = posthaste.appliance
  for (const { id: emailId } of data.filter((one) => one.subject === subject).slice(0, count)) {
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
    await storage.recordHit({ ...hit, data: { click: { ...who, link: 'https://shop.test/' } } }, now)
  }
}

test('the variants are compared while the test waits, and a person sends the winner earlier', async () => {
  await call('POST', `/broadcasts/${id}/send`)
  await page.goto(at(`/broadcasts/${id}`))
  const compared = page.getByRole('region', { name: 'A/B test' })
  await compared.getByText('Waiting for clicks.').waitFor()
  await click('Spring books', 2)
  await click('Ten books for spring', 6)
  await expect
    .poll(() => compared.locator('tbody tr').allInnerTexts(), { timeout: 60_000 })
    .toEqual([
      expect.stringMatching(/^A\s+Spring books\s+20%\s+\(2\)/) as unknown,
      expect.stringMatching(/^B\s+Ten books for spring\s+60%\s+\(6\)/) as unknown,
    ])
  await checked('broadcast-ab-waiting')
  await compared.getByRole('link', { name: 'Send B to the rest' }).click()
  await checked('broadcast-ab-choose')
  await page.getByRole('dialog').getByRole('button', { name: 'Send variant B' }).click()
  await page.getByText('Variant B goes to the rest.').waitFor()
  await compared.getByText(/^Somebody chose variant B\. Clicks: A 2 of 10 \(20\.0%\), B 6 of 10/).waitFor()
  await expect.poll(async () => (await stored()).status, { timeout: 60_000 }).toBe('sent')
  await page.reload()
  await compared.getByText('Winner', { exact: true }).waitFor()
  await checked('broadcast-ab-decided')
})

test('recipients and the content show the variants', async () => {
  await open('Recipients')
  await expect.poll(() => page.locator('td.variant').allInnerTexts()).toContain('A')
  await checked('broadcast-ab-recipients')
  await page.locator('a[data-row]').first().click()
  await page.getByText(/variant [AB] ·/).waitFor()
  await page.goto(at(`/broadcasts/${id}?tab=content`))
  await press('Variant B')
  await page.getByText('Ten books for spring').waitFor()
  expect(desk.errors).toEqual([])
})
