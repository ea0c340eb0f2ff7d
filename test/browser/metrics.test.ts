import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import {
  faintTexts,
  launch,
  namelessControls,
  openPage,
  sidewaysScroll,
  still,
  type Watched,
} from './browser.ts'

/** Tests the metrics page in a real browser, with mail that was really delivered and refused. */

let posthaste: TestAppliance
let browser: Browser
let desk: Watched

const at = (path: string) => `${posthaste.url}/dashboard${path}`

beforeAll(async () => {
  posthaste = await startAppliance()
  browser = await launch()
  desk = await openPage(browser, { acceptDownloads: true, timezoneId: 'Asia/Kolkata' })
  const { page } = desk
  await page.goto(at('/metrics'))
  await page.getByLabel('Email address').fill(posthaste.ownerEmail)
  await page.getByLabel('Password').fill(posthaste.ownerPassword)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'Metrics', exact: true }).waitFor()
})

afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

/** Checks the page at each size and theme. Takes screenshots if `SCREENSHOTS` names a folder. */
async function sound(page: Page, name: string): Promise<void> {
  const folder = process.env.SCREENSHOTS
  for (const width of [1440, 390])
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize({ width, height: 900 })
      await page.emulateMedia({ colorScheme })
      await still(page)
      expect(await faintTexts(page)).toEqual([])
      expect(await sidewaysScroll(page)).toBe(0)
      if (folder === undefined) continue
      await mkdir(folder, { recursive: true })
      await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`), fullPage: true })
    }
  expect(await namelessControls(page)).toEqual([])
  await page.emulateMedia({ colorScheme: null })
  await page.setViewportSize({ width: 1280, height: 800 })
}

test('metrics count emails and events, and each number links to its emails', async () => {
  const { page, errors } = desk
  await page.getByText('No mail in this period').waitFor()
  await sound(page, 'metrics-empty')

  // The page updates live.
  const tags = [{ name: 'kind', value: 'receipt' }]
  const fine = await posthaste.send({ to: 'ada@reader.example', subject: 'It arrives', tags })
  const gone = await posthaste.send({ to: 'bounced@resend.dev', subject: 'It does not' })
  const settled = (id: string) =>
    posthaste.until(id, ({ deliveries }) => deliveries.every(({ state }) => state !== 'waiting'))
  await Promise.all([settled(fine), settled(gone)])
  const delivered = page.getByRole('region', { name: 'Delivered' })
  await delivered.locator('canvas').waitFor({ timeout: 90_000 })
  await delivered.locator('strong', { hasText: /^1$/ }).waitFor()
  await page.getByRole('region', { name: 'Bounce rate' }).locator('strong', { hasText: '50%' }).waitFor()

  // The headline: emails sent, and their outcomes.
  const total = (name: string) =>
    page.locator('dl > div').filter({ has: page.locator('dt').getByText(name, { exact: true }) })
  await total('sent').getByRole('link', { name: '2', exact: true }).waitFor()
  await total('delivered').getByText('50% of sent').waitFor()
  await total('bounced').getByText('50% of sent').waitFor()
  await total('complained').getByText('0% of delivered').waitFor()
  await total('sent').getByRole('link').click()
  await page.locator(`[data-row="${gone}"]`).waitFor()
  await page.locator(`[data-row="${fine}"]`).waitFor()
  await page.goBack()
  await delivered.locator('canvas').waitFor()

  // Each heading has its status icon next to the color.
  const heads = page.locator('.charts h3')
  expect(await heads.count()).toBe(await heads.locator('[data-tone] svg').count())

  // With the keyboard only, from a data point to its emails and back.
  await page.getByRole('slider', { name: /^Bounced over time/ }).focus()
  await page.keyboard.press('End')
  await page
    .getByRole('region', { name: 'Bounced' })
    .getByText(/: 1, previously 0$/)
    .waitFor()
  await sound(page, 'metrics')
  await page.getByRole('slider', { name: /^Bounced over time/ }).press('End')
  await page.keyboard.press('Enter')
  await page.locator(`[data-row="${gone}"]`).waitFor()
  await expect
    .poll(() => new URL(page.url()).searchParams.get('q'))
    .toMatch(/^event:bounced happened:\S+\.\.\S+$/)
  await expect.poll(() => page.locator(`[data-row="${fine}"]`).count()).toBe(0)
  await page.goBack()

  // With the mouse, too.
  await page.getByRole('slider', { name: /^Delivered over time/ }).waitFor()
  const plot = delivered.locator('.u-over')
  // The chart is redrawn after Back.
  let box = await plot.boundingBox()
  await expect.poll(async () => (box = await plot.boundingBox())).not.toBeNull()
  await plot.hover({ position: { x: box!.width - 30, y: 40 } })
  await plot.click({ position: { x: box!.width - 4, y: 40 } })
  await page.locator(`[data-row="${fine}"]`).waitFor()
  await page.goBack()

  // Breakdowns, where each row links to its emails.
  await page.getByRole('button', { name: 'Bounce category' }).click()
  const row = page.getByRole('row', { name: /Mailbox doesn’t exist/ })
  await row.getByRole('link', { name: '1' }).click()
  await page.locator(`[data-row="${gone}"]`).waitFor()
  await expect.poll(() => page.url()).toContain('bounce%3Arecipient')
  await page.goBack()
  await row.getByTitle('1 bounced').click()
  await page.locator(`[data-row="${gone}"]`).waitFor()
  await expect.poll(() => page.url()).toContain('bounce%3Arecipient')
  await page.goBack()
  await page.getByRole('button', { name: 'Provider', exact: true }).click()
  await page.getByRole('columnheader', { name: 'Provider' }).waitFor()
  await expect.poll(() => page.url()).toContain('by=provider')

  await page.getByRole('button', { name: 'Tag', exact: true }).click()
  const receipts = page.getByRole('row', { name: /kind: receipt/ })
  await receipts.waitFor()
  await page.getByText('An email counts once for each of its tags').waitFor()
  const [table] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'CSV of these rows' }).click(),
  ])
  expect(await readFile(await table.path(), 'utf8')).toMatch(
    /^tag,name,delivered,.*\r\nkind:receipt,kind: receipt,1,.*\r\n$/,
  )
  await sound(page, 'metrics-tags')
  await receipts.getByRole('link', { name: '1' }).click()
  await page.locator(`[data-row="${fine}"]`).waitFor()
  await expect
    .poll(() => new URL(page.url()).searchParams.get('q'))
    .toMatch(/^event:delivered happened:\S+\.\.\S+ tag:kind:receipt$/)
  await expect.poll(() => page.locator(`[data-row="${gone}"]`).count()).toBe(0)
  await page.goBack()
  await page.getByRole('button', { name: 'Provider', exact: true }).click()
  await page.getByRole('columnheader', { name: 'Provider' }).waitFor()

  // Custom ranges: a link reproduces the view.
  await page.getByRole('button', { name: '24 hours' }).click()
  await page.getByRole('button', { name: 'Table' }).click()
  await expect.poll(() => page.url()).toBe(at('/metrics?by=provider&range=24h&view=table'))
  await page.getByText('Times are in GMT+5:30.').waitFor()
  await page.getByRole('group', { name: 'Time zone' }).getByRole('button', { name: 'UTC' }).click()
  await page.getByText('Times are in UTC.').waitFor()
  await expect.poll(() => page.getByRole('table').first().locator('tbody tr').count()).toBe(24)
  await sound(page, 'metrics-table')

  await page.getByRole('button', { name: 'Days: Custom' }).click()
  await page.getByLabel('First day').fill('2020-01-01')
  await page.getByRole('button', { name: 'Show' }).click()
  await page.getByRole('alert').filter({ hasText: 'The range is longer than 400 days' }).waitFor()
  await page.goto(at('/metrics'))

  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'CSV', exact: true }).click(),
  ])
  const text = await readFile(await file.path(), 'utf8')
  expect(text.split('\r\n')).toHaveLength(9)
  expect(text).toMatch(/^period,delivered,bounced,/)
  const [png] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'PNG' }).click(),
  ])
  expect((await readFile(await png.path())).subarray(1, 4).toString()).toBe('PNG')
  expect(errors).toEqual([])
})
