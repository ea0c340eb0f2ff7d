import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startSeeded, type Seeded } from '../world/seeded.ts'
import { settled, signIn } from './all-pages.ts'
import { launch, openPage } from './browser.ts'
import { buildDashboard } from './build.ts'

/** What is loaded before it is needed: the script of a page whose link is approached, its data at the press, and beside its script. */

let seeded: Seeded
let browser: Browser
let dashboard: string

beforeAll(async () => {
  dashboard = await mkdtemp(join(tmpdir(), 'posthaste-ui-'))
  await buildDashboard(dashboard)
  seeded = await startSeeded({ days: 1, emailsPerDay: 20, dashboard })
  browser = await launch()
}, 120_000)
afterAll(async () => {
  await browser?.close()
  await seeded?.close()
  await rm(dashboard, { recursive: true, force: true })
})

/** Holds a script back until the returned function is called. */
async function hold(page: Page, script: RegExp): Promise<() => void> {
  const gate = Promise.withResolvers<void>()
  await page.route(script, async (route) => {
    await gate.promise
    await route.continue()
  })
  return gate.resolve
}

/** Signed in on the emails, with what was asked for since. The other pages are not loaded: the first of them does not arrive. */
async function desk() {
  const { page, context } = await openPage(browser)
  const letGo = await hold(page, /\/assets\/Email-[^/]*\.js$/)
  await signIn(page, seeded)
  await settled(page)
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  return { page, context, asked, letGo }
}

test('a link that the pointer or the focus comes to has the script of its page loaded, and nothing else', async () => {
  const { page, context, asked, letGo } = await desk()
  const link = (name: string) => page.getByRole('link', { name, exact: true })
  const loaded = (name: string) => page.waitForResponse((one) => one.url().includes(`/assets/${name}-`))
  await Promise.all([loaded('Usage'), link('Usage').hover()])
  await Promise.all([loaded('Webhooks'), link('Webhooks').focus()])
  expect(asked.filter((path) => ['/usage', '/webhooks'].includes(path))).toEqual([])
  letGo()
  await context.close()
})

test('the data of a page is asked for while its script is on its way', async () => {
  for (const [name, path] of [
    ['Metrics', '/emails/metrics/breakdown'],
    ['Inbox', '/sandbox/messages'],
  ] as const) {
    const { page, context, letGo } = await desk()
    const arrive = await hold(page, new RegExp(`/assets/${name}-[^/]*\\.js$`))
    const data = page.waitForRequest((one) => new URL(one.url()).pathname === path)
    await page.getByRole('link', { name, exact: true }).click()
    await data
    expect(await page.getByRole('heading', { name, level: 1 }).count()).toBe(0)
    arrive()
    await page.getByRole('heading', { name, level: 1 }).waitFor()
    await settled(page)
    letGo()
    await context.close()
  }
})

test('the data of a page is asked for at the press on its link, before the click', async () => {
  const { page, context } = await openPage(browser)
  await signIn(page, seeded)
  await page.goto(`${seeded.posthaste.url}/dashboard/usage`)
  await settled(page)
  const data = page.waitForRequest((one) => new URL(one.url()).pathname === '/webhooks')
  await page.getByRole('link', { name: 'Webhooks', exact: true }).hover()
  await page.mouse.down()
  await data
  expect(new URL(page.url()).pathname).toBe('/dashboard/usage')
  await page.mouse.up()
  await page.locator('main [data-row]').first().waitFor()
  await context.close()
})

test('a page that was seen is there at once when somebody comes back, before the appliance answers', async () => {
  const { page, context } = await openPage(browser)
  await signIn(page, seeded)
  await settled(page)
  for (const [name, row] of [
    ['Webhooks', 'main [data-row]'],
    ['Emails', 'main [data-row]'],
  ] as const) {
    const link = page.getByRole('link', { name, exact: true })
    await link.click()
    await page.locator(row).first().waitFor()
    await page.getByRole('link', { name: 'Usage', exact: true }).click()
    await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor()
    await settled(page)
    const answer = Promise.withResolvers<void>()
    await page.route(/\/(webhooks|emails\/search)(\?|$)/, async (route) => {
      await answer.promise
      await route.continue()
    })
    await link.click()
    await page.locator(row).first().waitFor()
    expect([name, await page.locator('main .skeleton').count()]).toEqual([name, 0])
    answer.resolve()
    await page.unrouteAll({ behavior: 'wait' })
  }
  await context.close()
})

test('a long list is drawn to its end, and Back returns to a row far down', async () => {
  const { page, context } = await openPage(browser, { viewport: { width: 1280, height: 400 } })
  for (let i = 0; i < 30; i++)
    await seeded.posthaste.call('POST', '/domains', { name: `d${String(i).padStart(2, '0')}.long.example` })
  await signIn(page, seeded)
  await page.getByRole('link', { name: 'Domains', exact: true }).click()
  await expect.poll(() => page.locator('main tbody tr').count()).toBeGreaterThan(30)
  const link = page.locator('main [data-row]').last()
  const [row, name] = [await link.getAttribute('data-row'), await link.textContent()]
  await link.click()
  await page.getByRole('heading', { name: name!, level: 1 }).waitFor()
  const focused = () => page.evaluate<string>('document.activeElement.dataset.row')
  await page.goBack()
  await expect.poll(focused).toBe(row)
  expect(await page.evaluate<number>('scrollY')).toBeGreaterThan(500)
  await context.close()
})
