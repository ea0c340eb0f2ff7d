import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { launch, openPage } from './browser.ts'
import { sound } from './sound.ts'

/** Tests the sandbox's inbox and the IP page. */

let posthaste: TestAppliance
let browser: Browser
let page: Page
const at = (path: string) => `${posthaste.url}/dashboard${path}`

beforeAll(async () => {
  posthaste = await startAppliance()
  browser = await launch()
  page = (await openPage(browser)).page
  await page.goto(at('/inbox'))
  await page.getByLabel('Email address').fill(posthaste.ownerEmail)
  await page.getByLabel('Password', { exact: true }).fill(posthaste.ownerPassword)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByText('No messages yet').waitFor()
})
afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

test('finds a message by words from it, shows its subject on a phone, and links to its email', async () => {
  const subject = 'A subject that needs some room'
  const id = await posthaste.send({ to: 'ada@reader.example', subject })
  await posthaste.send({ to: 'grace@reader.example', subject: 'Another' })
  await page.getByRole('link', { name: 'grace@reader.example' }).waitFor()
  await page.getByLabel('Find a message').fill('ROOM ada')
  await page.keyboard.press('Enter')
  await expect.poll(() => page.url()).toBe(at('/inbox?q=ROOM+ada'))
  await expect.poll(() => page.locator('tbody tr').count()).toBe(1)
  const row = page.getByRole('row', { name: subject })
  await row.getByText('all pass').waitFor()
  expect(await row.locator('.chip').count()).toBe(1)
  await sound(page, 'inbox')
  await page.setViewportSize({ width: 390, height: 844 })
  const cell = row.locator('td.subject')
  expect(
    await cell.evaluate((one: unknown) => {
      const { scrollWidth, clientWidth } = one as { scrollWidth: number; clientWidth: number }
      return scrollWidth <= clientWidth
    }),
  ).toBe(true)
  await page.setViewportSize({ width: 1280, height: 800 })
  await row.getByRole('link').click()
  await page.getByText('DKIM: pass').waitFor()
  await page.getByRole('link', { name: 'Open email' }).click()
  await expect.poll(() => page.url()).toBe(at(`/emails/${id}`))
})

test('the IP list shows whether an IP needs attention', async () => {
  await page.goto(at('/sources'))
  await page.getByText('Your IP is in use. No problems found.').waitFor()
  await page.getByRole('row', { name: 'Chosen by the system' }).getByText('in use').waitFor()
  await sound(page, 'ips')
  await posthaste.call('PATCH', '/sources/auto', { state: 'suspended' })
  await page.reload()
  await page.getByText('Your IP needs attention.').waitFor()
})
