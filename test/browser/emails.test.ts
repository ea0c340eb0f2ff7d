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

test.each([
  ['Reschedule', 'do=reschedule'],
  ['Replay a range of time', 'do=replay'],
])('Esc closes “%s” and stays on its page', async (title, query) => {
  const { page } = desk
  const scheduled_at = new Date(Date.now() + 3_600_000).toISOString()
  const email = await posthaste.send({ to: 'later@reader.example', subject: 'For later', scheduled_at })
  const { body: webhook } = await posthaste.call<{ id: string }>('POST', '/webhooks', {
    endpoint: 'https://app.example/hook',
    events: ['email.sent'],
  })
  const path = title === 'Reschedule' ? `/emails/${email}` : `/webhooks/${webhook.id}`
  // Pages to fall back to, if more than one step back were taken.
  for (const before of ['/domains', '/emails', path]) await page.goto(at(before))
  await page.locator(`a[href$="${query}"]`).click()
  const dialog = page.getByRole('dialog', { name: title })
  await dialog.locator('[type="datetime-local"]').first().focus()
  await page.evaluate(`window.popped = 0; addEventListener('popstate', () => window.popped++)`)
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  // What the page asked the history for came before this step forward and back.
  await page.evaluate(`history.pushState(null, '')`)
  await page.goBack()
  expect(page.url()).toBe(at(path))
  expect(await page.evaluate('window.popped')).toBe(2)
})
