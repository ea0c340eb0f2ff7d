import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Domain } from '../../appliance/api/domains.ts'
import { freeAddress } from '../world/addresses.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { launch, openPage } from './browser.ts'
import { sound } from './sound.ts'

/** Tests the page of a domain that delegates a subdomain: what its owner publishes, and what Posthaste publishes. */

let posthaste: TestAppliance
let browser: Browser
let page: Page
let domain: Domain

beforeAll(async () => {
  const zone = 'keys.dns.mail.sender.test'
  posthaste = await startAppliance({
    config: { nameserver: { zone, listen: [`${freeAddress()}:0`], names: [], rotate_days: 90 } },
  })
  const body = { name: 'acme.test', delegation: 'ns', tracking_subdomain: 'links.send' }
  domain = (await posthaste.call<Domain>('POST', '/domains', body)).body
  browser = await launch()
  page = (await openPage(browser, { permissions: ['clipboard-read', 'clipboard-write'] })).page
  await page.goto(`${posthaste.url}/dashboard/domains/${domain.id}`)
  await page.getByLabel('Email address').fill(posthaste.ownerEmail)
  await page.getByLabel('Password', { exact: true }).fill(posthaste.ownerPassword)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
})
afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

test('lists the records the owner publishes separately from those Posthaste publishes', async () => {
  await page.getByText('You publish these records once.').waitFor()
  await page.getByRole('heading', { name: 'Published by Posthaste' }).waitFor()
  const rows = (table: number, name: RegExp) => page.getByRole('table').nth(table).getByRole('row', { name })
  await expect.poll(() => rows(0, /^Delegation NS send/).count()).toBe(1)
  await expect.poll(() => rows(0, /^DKIM CNAME/).count()).toBe(4)
  await expect.poll(() => rows(1, /^SPF (MX|TXT) send/).count()).toBe(2)
  await expect.poll(() => rows(1, /^Tracking CNAME links\.send/).count()).toBe(1)
  expect(await rows(0, /^(SPF|Tracking)/).count()).toBe(0)
  expect(await rows(1, /^(DKIM|Delegation)/).count()).toBe(0)
  await sound(page, 'domain-delegated')
})

test('the copied zone file contains only the owner’s records', async () => {
  await page.getByRole('button', { name: 'Copy all' }).click()
  const copied = () => page.evaluate('navigator.clipboard.readText()')
  await expect.poll(copied).toContain('NS')
  const text = String(await copied())
  expect(text).toContain('posthaste1._domainkey.acme.test')
  expect(text).not.toContain('v=spf1')
  expect(text).not.toContain('links.send')
})
