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

test('shows entries as sentences with names, even of deleted objects, with filters in the URL and details on click', async () => {
  const { body } = await posthaste.call<{ id: string }>('POST', '/domains', { name: 'audit.example' })
  await posthaste.call('PATCH', `/domains/${body.id}`, { tls: 'enforced' })
  await posthaste.call('POST', `/domains/${body.id}/dkim/rotate`)
  await posthaste.call('DELETE', `/domains/${body.id}`)
  await posthaste.call('DELETE', `/domains/${body.id}`)
  const { page, errors } = await openPage(browser)
  const sentence = (words: string) => page.getByRole('link', { name: words, exact: true })
  await page.goto(`${posthaste.url}/dashboard/settings/audit`)
  await page.getByLabel('Email address').fill(posthaste.ownerEmail)
  await page.getByLabel('Password', { exact: true }).fill(posthaste.ownerPassword)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
  await page.goto(`${posthaste.url}/dashboard/settings/audit`)
  const signedIn = sentence(`${posthaste.ownerEmail} signed in with a password`)
  await signedIn.waitFor()
  await sentence(`API key “First key” rotated DKIM for audit.example`).waitFor()
  await sentence(`API key “First key” deleted the domain audit.example`).waitFor()
  await page
    .getByRole('row', { name: `tried to delete the domain ${body.id}` })
    .getByText('refused')
    .waitFor()
  await sound(page, 'audit')

  await page.getByLabel('Kind').selectOption({ label: 'Domains' })
  await expect.poll(() => page.url()).toContain('action=domain')
  await expect.poll(() => signedIn.count()).toBe(0)
  await page.getByLabel('Name or ID').fill('AUDIT.example')
  await page.keyboard.press('Enter')
  await expect.poll(() => page.url()).toContain('target=AUDIT.example')
  await page.getByLabel('Who').fill('first key')
  await page.keyboard.press('Enter')
  await expect.poll(() => page.locator('tbody tr').count()).toBe(4)
  await sentence('API key “First key” changed TLS of audit.example from opportunistic to enforced').click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('row', { name: 'tls opportunistic enforced' }).waitFor()
  await dialog.getByText(`domain ${body.id}`).waitFor()
  await sound(page, 'audit-entry')
  await page.keyboard.press('Escape')
  await expect.poll(() => dialog.count()).toBe(0)

  const href = await page.getByRole('link', { name: 'Export' }).getAttribute('href')
  expect(href).toBe('/audit/export?actor=first+key&action=domain&target=AUDIT.example')
  await page.setViewportSize({ width: 390, height: 844 })
  await page.goto(`${posthaste.url}/dashboard/settings/audit?action=domain.delete`)
  await page
    .getByRole('row', { name: `tried to delete the domain ${body.id}` })
    .getByText('refused')
    .waitFor()
  await sound(page, 'audit-narrow')
  await page.setViewportSize({ width: 390, height: 844 })
  expect(await page.getByLabel('Name or ID').isVisible()).toBe(false)
  await page.getByRole('button', { name: 'Filters (1)' }).click()
  await page.getByLabel('Name or ID').fill('nothing.example')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Filters (2)' }).waitFor()
  await page.goto(`${posthaste.url}/dashboard/settings/audit?actor=nobody`)
  await page.getByText('No entries match').waitFor()
  expect(errors).toEqual([])
})
