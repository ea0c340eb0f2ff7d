import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Pool } from '../../appliance/api/sources.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { launch, openPage } from './browser.ts'
import { sound } from './sound.ts'

/** Tests regions: of pools on the IPs page, and the preview of a fail-over on the page of nodes. */

let posthaste: TestAppliance
let browser: Browser
let page: Page
let errors: string[]

const at = (path: string) => `${posthaste.url}/dashboard${path}`
const pools = async () => (await posthaste.call<{ data: Pool[] }>('GET', '/sources/pools')).body.data

beforeAll(async () => {
  posthaste = await startAppliance()
  await posthaste.call('POST', '/sources', { ip: '192.0.2.9', pool: 'europe' })
  browser = await launch()
  ;({ page, errors } = await openPage(browser))
  await page.goto(at('/sources?tab=pools'))
  await page.getByLabel('Email address').fill(posthaste.ownerEmail)
  await page.getByLabel('Password', { exact: true }).fill(posthaste.ownerPassword)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
})

afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

test('pools are put in regions, and the preview shows which domains another region could send for', async () => {
  const save = page.getByRole('button', { name: 'Save region' })
  for (const [pool, region] of [
    ['default', 'us-east-1'],
    ['europe', 'eu-west-1'],
  ] as const) {
    await page.getByLabel(`Region of ${pool}`).fill(region)
    await save.click()
    await expect.poll(async () => (await pools()).find(({ name }) => name === pool)?.region).toBe(region)
    await expect.poll(() => save.count()).toBe(0)
  }
  await sound(page, 'pool-regions')
  await page.getByLabel('Region of europe').fill('not a region')
  await save.click()
  await page.getByRole('alert').filter({ hasText: 'a name such as eu-west-1' }).waitFor()

  await page.goto(at('/settings/nodes'))
  const regions = page.locator('section', { has: page.getByRole('heading', { name: 'Regions' }) })
  await regions.getByText('No node is in this region.').first().waitFor()
  await regions.getByRole('button', { name: 'Preview fail-over to eu-west-1' }).click()
  await regions.getByRole('status').getByText('192.0.2.9 (eu-west-1)').waitFor()
  await regions.getByRole('status').getByText(posthaste.domain).waitFor()
  await sound(page, 'regions')
  await regions.getByRole('link', { name: 'Queue' }).first().click()
  await page.getByRole('link', { name: /^Remove filter Region: / }).waitFor()
  expect(errors.filter((error) => !error.includes('422'))).toEqual([])
})
