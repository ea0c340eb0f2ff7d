import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { seedAlerts } from '../world/seeded-alerts.ts'
import { launch, openPage } from './browser.ts'
import { sound } from './sound.ts'

/** Tests alerts in the dashboard: the page, the number beside its entry, and what the team is notified of. */

let posthaste: TestAppliance
let browser: Browser
let page: Page
let domain: { id: string; name: string }
const at = (path: string) => `${posthaste.url}/dashboard${path}`

beforeAll(async () => {
  posthaste = await startAppliance()
  const { body } = await posthaste.call<{ data: { id: string; name: string }[] }>('GET', '/domains')
  const { id, name } = body.data[0]!
  domain = { id, name }
  browser = await launch()
  page = (await openPage(browser)).page
  await page.goto(at('/alerts'))
  await page.getByLabel('Email address').fill(posthaste.ownerEmail)
  await page.getByLabel('Password', { exact: true }).fill(posthaste.ownerPassword)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
})
afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

test('without alerts the page explains its purpose, and the navigation shows no number', async () => {
  await page.goto(at('/alerts'))
  await page.getByText('Alerts appear here before a provider’s limit is reached').waitFor()
  await page
    .getByRole('navigation', { name: 'Main' })
    .getByRole('link', { name: 'Alerts', exact: true })
    .waitFor()
  await sound(page, 'alerts-none')
})

test('an open alert shows the problem and the fix, links to the cause, and is counted in the navigation', async () => {
  const titles = await seedAlerts(posthaste, domain, Date.now())
  await page.reload()
  const row = page.getByRole('row', { name: titles.open })
  await row.getByText('3.4% of 1,240 emails').waitFor()
  await row.getByText('Stop mailing to addresses that bounce').waitFor()
  await page.getByRole('row', { name: titles.closed }).getByText('closed', { exact: true }).waitFor()
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Alerts 1 open' }).waitFor()
  await sound(page, 'alerts')
  await page.getByLabel('Status').selectOption('closed')
  await expect.poll(() => page.getByRole('row', { name: titles.open }).count()).toBe(0)
  await page.getByLabel('Status').selectOption('open')
  await page.getByRole('link', { name: titles.open }).click()
  await expect.poll(() => page.url()).toContain(`/domains/${domain.id}?tab=reputation`)
})

test('saves who is notified of which alerts', async () => {
  await page.goto(at('/settings/alerts'))
  const email = page.getByRole('checkbox', { name: 'Email the team’s owners' })
  await expect.poll(() => email.isChecked()).toBe(true)
  await email.uncheck()
  await page.getByRole('checkbox', { name: 'Deferrals' }).uncheck()
  await sound(page, 'settings-alerts')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Alert settings saved.').waitFor()
  const { body } = await posthaste.call('GET', '/alert-settings')
  expect(body).toMatchObject({ email: false, muted: ['deferrals'] })
  await page.reload()
  await expect.poll(() => page.getByRole('checkbox', { name: 'Deferrals' }).isChecked()).toBe(false)
})
