import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { seedReports } from '../world/seeded-reports.ts'
import { launch, openPage } from './browser.ts'
import { sound } from './sound.ts'

/** Tests a domain's DMARC and TLS reports in the dashboard: how to get them, and what they say. */

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

test('without reports the page shows the records to publish, with copy buttons', async () => {
  await page.getByRole('link', { name: 'Reports' }).click()
  await page.getByText('No DMARC reports in this period.').waitFor()
  await page.getByText('No TLS reports in this period.').waitFor()
  await page.getByText('Reports appear here one by one').waitFor()
  await page.getByText(`_smtp._tls.${domain.name}`, { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Copy value of the TLS-RPT record' }).waitFor()
  // The sandbox publishes the DMARC record, but no TLS-RPT record.
  await page.getByText('Wait: the record is published, and reports arrive once a day.').waitFor()
  await sound(page, 'domain-reports-none')
})

test('reports show who sends as the domain, how much of its mail passes, and the next steps', async () => {
  await seedReports(posthaste, domain, Date.now())
  await page.reload()
  await page.getByText('of 1,340 reported messages passed').waitFor()
  await page.getByText('Set up DKIM for each service that you use.').waitFor()
  const row = (ip: string) => page.getByRole('row', { name: ip })
  await row('198.51.100.7').getByText(`May send for ${domain.name}, and passes DMARC.`).waitFor()
  await row('203.0.113.40').getByText(`Signs as crm.example, not as ${domain.name}.`).waitFor()
  await row('2001:db8::bad').getByText('14 in spam').waitFor()
  await page.getByText('The certificate has expired.').waitFor()
  await expect.poll(() => page.getByRole('cell', { name: 'reports.mailbox.example' }).count()).toBe(2)
  await sound(page, 'domain-reports')
  await page.getByRole('link', { name: '90 days' }).click()
  await expect.poll(() => page.url()).toContain('days=90')
  await page.getByText('of 1,340 reported messages passed').waitFor()
})

test('the daily chart can be read with the arrow keys', async () => {
  await page.getByRole('heading', { name: 'Messages by day' }).waitFor()
  const chart = page.getByRole('slider', { name: 'Messages that passed and failed, by day' })
  await chart.focus()
  await page.keyboard.press('End')
  await expect.poll(() => chart.getAttribute('aria-valuetext')).toMatch(/: no reports$/)
  await page.keyboard.press('ArrowLeft')
  await expect.poll(() => chart.getAttribute('aria-valuetext')).toMatch(/: 1,240 passed, 100 failed$/)
})

test('each report in the list has its own page', async () => {
  const rows = page.getByRole('region', { name: 'All reports' }).getByRole('row')
  await expect.poll(() => rows.count()).toBe(3)
  await rows.filter({ hasText: 'DMARC' }).getByRole('link', { name: 'Mailbox' }).click()
  await page.getByRole('heading', { name: 'DMARC report from Mailbox' }).waitFor()
  await page.getByText('p=quarantine; adkim=s').waitFor()
  await page.getByText('of 1,340 messages passed DMARC.').waitFor()
  await page.getByText(`Signs as crm.example, not as ${domain.name}.`).waitFor()
  await page.getByText('3 records as reported').click()
  await page.getByRole('cell', { name: 'pass crm.example', exact: true }).waitFor()
  await sound(page, 'domain-report')
  await page.getByRole('link', { name: 'Reports', exact: true }).click()
  await page.getByRole('heading', { name: 'All reports' }).waitFor()
  await rows.filter({ hasText: 'TLS' }).getByRole('link', { name: 'Mailbox' }).click()
  await page.getByRole('heading', { name: 'TLS report from Mailbox' }).waitFor()
  await page.getByText('of 314 sessions used TLS.').waitFor()
  await page.getByText('The certificate has expired.').waitFor()
})
