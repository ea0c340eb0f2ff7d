import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { launch, openPage, type Watched } from './browser.ts'
import { sound } from './sound.ts'

/** What the list of emails and the page of one say, on a sandbox. */

let posthaste: TestAppliance
let browser: Browser
let desk: Watched

const at = (path: string) => `${posthaste.url}/dashboard${path}`

beforeAll(async () => {
  posthaste = await startAppliance()
  browser = await launch()
  desk = await openPage(browser)
  await desk.page.goto(at('/emails'))
  await desk.page.getByLabel('Email address').fill(posthaste.ownerEmail)
  await desk.page.getByLabel('Password').fill(posthaste.ownerPassword)
  await desk.page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await desk.page.getByRole('navigation', { name: 'Main' }).waitFor()
})

afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

test('on a phone one button shows the filters and says how many are set', async () => {
  const { page } = desk
  await page.goto(at('/emails?q=status:bounced'))
  const status = page.getByLabel('Status', { exact: true })
  const filters = page.getByRole('button', { name: 'Filters' })
  await status.waitFor()
  expect(await filters.isVisible()).toBe(false)
  await page.setViewportSize({ width: 390, height: 844 })
  await filters.waitFor()
  expect(await filters.innerText()).toBe('Filters (1)')
  expect(await status.isVisible()).toBe(false)
  await filters.click()
  await status.selectOption('delivered')
  await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe('status:delivered')
  expect(await filters.getAttribute('aria-expanded')).toBe('true')
  await sound(page, 'emails-filters')
})
