import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { seedReports } from '../world/seeded-reports.ts'
import { launch, openPage } from './browser.ts'
import { sound } from './sound.ts'

/** DMARC and TLS reports of a domain in the dashboard: how to get them, and what they say. */

let posthaste: TestAppliance
let browser: Browser
let page: Page
let domain: { id: string; name: string }
const at = (path: string) => `${posthaste.url}/dashboard${path}`

beforeAll(async () => {
  posthaste = await startAppliance()
  const { body } = await posthaste.call<{ data: { id: string; name: string }[] }>('GET', '/domains')
  domain = body.data[0]!
  browser = await launch()
  page = (await openPage(browser)).page
  await page.goto(at(`/domains/${domain.id}`))
  await page.getByLabel('Email address').fill(posthaste.ownerEmail)
  await page.getByLabel('Password', { exact: true }).fill(posthaste.ownerPassword)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
})
afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

test('without reports the page says what to publish, to be copied', async () => {
  await page.getByRole('link', { name: 'Reports' }).click()
  await page.getByText('No DMARC reports in this period.').waitFor()
  await page.getByText('No TLS reports in this period.').waitFor()
  await page.getByText(`_smtp._tls.${domain.name}`, { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Copy value of the TLS-RPT record' }).waitFor()
  // The sandbox publishes the DMARC record, and no TLS-RPT record.
  await page.getByText('Wait: the record is published, and reports arrive once a day.').waitFor()
  await sound(page, 'domain-reports-none')
})

test('reports say who sends as the domain, how it fares, and what to do', async () => {
  await seedReports(posthaste, domain, Date.now())
  await page.reload()
  await page.getByText('of 1,340 reported messages passed').waitFor()
  await page.getByText('Set up DKIM for each service that you use.').waitFor()
  const row = (ip: string) => page.getByRole('row', { name: ip })
  await row('198.51.100.7').getByText(`May send for ${domain.name}, and passes DMARC.`).waitFor()
  await row('203.0.113.40').getByText(`Signs as crm.example, not as ${domain.name}.`).waitFor()
  await row('2001:db8::bad').getByText('14 in spam').waitFor()
  await page.getByText('The certificate has expired.').waitFor()
  expect(await page.getByRole('cell', { name: 'reports.mailbox.example' }).count()).toBe(2)
  await sound(page, 'domain-reports')
  await page.getByRole('link', { name: '90 days' }).click()
  await expect.poll(() => page.url()).toContain('days=90')
  await page.getByText('of 1,340 reported messages passed').waitFor()
})
