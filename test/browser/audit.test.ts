import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { launch, openPage } from './browser.ts'
import { sound } from './sound.ts'

let posthaste: TestAppliance
let browser: Browser

beforeAll(async () => {
  posthaste = await startAppliance()
  browser = await launch()
})
afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

test('what was done is listed, narrowed by the address bar, and shown before and after', async () => {
  const { body } = await posthaste.call<{ id: string }>('POST', '/domains', { name: 'audit.example' })
  await posthaste.call('PATCH', `/domains/${body.id}`, { tls: 'enforced' })
  const { page } = await openPage(browser)
  await page.goto(`${posthaste.url}/dashboard/settings/audit`)
  await page.getByLabel('Email address').fill(posthaste.ownerEmail)
  await page.getByLabel('Password', { exact: true }).fill(posthaste.ownerPassword)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
  await page.goto(`${posthaste.url}/dashboard/settings/audit`)
  await page.getByRole('link', { name: 'session: create' }).first().waitFor()
  await sound(page, 'audit')

  await page.getByLabel('Action: a word').fill('domain')
  await page.keyboard.press('Enter')
  await expect.poll(() => page.url()).toContain('action=domain')
  await expect.poll(() => page.getByRole('link', { name: 'session: create' }).count()).toBe(0)
  await page.getByRole('link', { name: 'domain: update' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('row', { name: 'tls opportunistic enforced' }).waitFor()
  await sound(page, 'audit-entry')
  await page.keyboard.press('Escape')
  await expect.poll(() => dialog.count()).toBe(0)

  const href = await page.getByRole('link', { name: 'Export' }).getAttribute('href')
  expect(href).toBe('/audit/export?action=domain')
  await page.goto(`${posthaste.url}/dashboard/settings/audit?actor=nobody`)
  await page.getByText('Nothing of that was done').waitFor()
})
