import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startSeeded, type Seeded } from '../world/seeded.ts'
import { settled, signIn } from './all-pages.ts'
import { launch, openPage } from './browser.ts'

/**
 * Tests prefetching: a page's script when the pointer approaches its link, its data when the pointer rests there or on
 * press, in parallel with the script.
 */

let seeded: Seeded
let browser: Browser
let signedIn: Awaited<ReturnType<BrowserContext['storageState']>>

const at = (path: string) => `${seeded.posthaste.url}/dashboard${path}`

beforeAll(async () => {
  seeded = await startSeeded({ days: 1, emailsPerDay: 20 })
  browser = await launch()
  const { page, context } = await openPage(browser)
  await signIn(page, seeded)
  signedIn = await context.storageState()
  await context.close()
})
afterAll(async () => {
  await browser?.close()
  await seeded?.close()
})

/** Blocks a script until the returned function is called. */
async function hold(page: Page, script: RegExp): Promise<() => void> {
  const gate = Promise.withResolvers<void>()
  await page.route(script, async (route) => {
    await gate.promise
    await route.continue()
  })
  return gate.resolve
}

/**
 * Opens the emails page and records requests. The other pages aren't preloaded, because the first of their scripts is
 * blocked.
 */
async function desk() {
  const { page, context } = await openPage(browser, { storageState: signedIn, preloads: true })
  const letGo = await hold(page, /\/assets\/Email-[^/]*\.js$/)
  await page.goto(at('/emails'))
  await settled(page)
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  return { page, context, asked, letGo }
}

const linkTo = (page: Page, name: string) => page.getByRole('link', { name, exact: true })

/** Moves over links in one moment, with the pointer and with the focus. */
const passOver = (page: Page, names: readonly string[]) =>
  page.evaluate(`(() => {
    const links = [...document.querySelectorAll('nav a')]
    for (const name of ${JSON.stringify(names)}) {
      const link = links.find((one) => one.textContent.trim() === name)
      for (const type of ['pointerover', 'pointermove'])
        link.dispatchEvent(new PointerEvent(type, { bubbles: true, pointerType: 'mouse' }))
      link.focus()
    }
  })()`)

test('hovering over or focusing a link loads the script of its page, but no data', async () => {
  const { page, context, asked, letGo } = await desk()
  const loaded = (name: string) => page.waitForResponse((one) => one.url().includes(`/assets/${name}-`))
  await Promise.all([loaded('Metrics'), loaded('Webhooks'), passOver(page, ['Metrics', 'Webhooks', 'Queue'])])
  // A request that comes after any of those would have.
  await Promise.all([page.waitForRequest('**/sandbox/messages*'), linkTo(page, 'Inbox').hover()])
  expect(asked.filter((path) => ['/emails/metrics/breakdown', '/webhooks'].includes(path))).toEqual([])
  letGo()
  await context.close()
})

test('resting the pointer on a link requests the data of its page once, which is shown after the click', async () => {
  const { page, context, asked, letGo } = await desk()
  const times = (path: string) => asked.filter((one) => one === path).length
  // Freezes the clock, so that no response expires on a slow machine.
  await page.evaluate('performance.now = () => 1000')
  const [answer] = await Promise.all([page.waitForResponse('**/webhooks'), linkTo(page, 'Webhooks').hover()])
  await answer.finished()
  await page.mouse.move(640, 1)
  await Promise.all([page.waitForResponse('**/sandbox/messages*'), linkTo(page, 'Inbox').hover()])
  await linkTo(page, 'Webhooks').click()
  await page.locator('main [data-row]').first().waitFor()
  await settled(page)
  expect([times('/sandbox/messages'), times('/webhooks')]).toEqual([1, 1])
  letGo()
  await context.close()
})

test('keeping the focus on a link requests the data of its page', async () => {
  const { page, context, letGo } = await desk()
  await linkTo(page, 'Audience').focus()
  const data = page.waitForRequest('**/emails/metrics/breakdown?*')
  await page.keyboard.press('Tab')
  await data
  letGo()
  await context.close()
})

test('selecting a page in the command palette requests its data before Enter', async () => {
  const { page, context, asked, letGo } = await desk()
  await page.evaluate('performance.now = () => 1000')
  await page.keyboard.press('Control+k')
  const [answer] = await Promise.all([page.waitForResponse('**/webhooks'), page.keyboard.type('Webhooks')])
  await answer.finished()
  expect(new URL(page.url()).pathname).toBe('/dashboard/emails')
  const times = () => asked.filter((path) => path === '/webhooks').length
  // Once for the page, and once for the names in the command palette.
  await expect.poll(times).toBe(2)
  await page.keyboard.press('Enter')
  await page.locator('main [data-row]').first().waitFor()
  await settled(page)
  expect(times()).toBe(2)
  letGo()
  await context.close()
})

/** Returns the requests made while the pointer rests on links. The page's timers run only when told to. */
async function askedWhileResting(page: Page, names: readonly string[]): Promise<string[]> {
  await page.clock.install()
  await page.goto(at('/api-keys'))
  await settled(page)
  await page.clock.pauseAt(Date.now() + 3000)
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  for (const name of names) {
    await linkTo(page, name).hover()
    await page.clock.runFor(100)
  }
  // The last of them, if there were any.
  await Promise.all([page.waitForRequest('**/webhooks'), linkTo(page, 'Webhooks').click()])
  return asked.filter((path) => ['/api-keys', '/sandbox/messages'].includes(path))
}

test('resting the pointer on the link of the current page requests no data', async () => {
  const { page, context } = await openPage(browser, { storageState: signedIn, preloads: true })
  expect(await askedWhileResting(page, ['API keys', 'Inbox'])).toEqual(['/sandbox/messages'])
  await context.close()
})

test('requests no data before a press if the browser is in data-saving mode', async () => {
  const { page, context } = await openPage(browser, { storageState: signedIn })
  expect(await askedWhileResting(page, ['API keys', 'Inbox'])).toEqual([])
  await context.close()
})

test('requests the data of a page while its script is still loading', async () => {
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

test('loads the scripts of other pages only after the current page has its data', async () => {
  const { page, context } = await openPage(browser, { storageState: signedIn, preloads: true })
  const answer = await hold(page, /:\d+\/api-keys/)
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  const scripts = () => asked.filter((path) => /\/assets\/(Inbox|Webhooks)-/.test(path)).length
  // Stops the page's clocks, so that only the data is awaited.
  await page.addInitScript('performance.now = () => 1000')
  await page.goto(at('/api-keys'))
  await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor()
  await page.evaluate('new Promise((idle) => requestIdleCallback(() => setTimeout(idle, 200)))')
  expect(scripts()).toBe(0)
  answer()
  await expect.poll(scripts).toBe(2)
  await context.close()
})

test('pressing a link requests the data of its page before the click', async () => {
  const { page, context } = await openPage(browser, { storageState: signedIn })
  await page.goto(at('/suppressions'))
  await settled(page)
  const data = page.waitForRequest((one) => new URL(one.url()).pathname === '/webhooks')
  await page.getByRole('link', { name: 'Webhooks', exact: true }).hover()
  await page.mouse.down()
  await data
  expect(new URL(page.url()).pathname).toBe('/dashboard/suppressions')
  await page.mouse.up()
  await page.locator('main [data-row]').first().waitFor()
  await context.close()
})

test('shows a previously visited page before the server responds', async () => {
  const { page, context } = await openPage(browser, { storageState: signedIn, preloads: true })
  await page.goto(at('/emails'))
  await settled(page)
  for (const [name, row] of [
    ['Webhooks', 'main [data-row]'],
    ['Emails', 'main [data-row]'],
  ] as const) {
    const link = page.getByRole('link', { name, exact: true })
    await link.click()
    await page.locator(row).first().waitFor()
    await page.getByRole('link', { name: 'API keys', exact: true }).click()
    await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor()
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

test('renders a long list to its end, and Back returns to a row near the end', async () => {
  const { page, context } = await openPage(browser, {
    storageState: signedIn,
    preloads: true,
    viewport: { width: 1280, height: 400 },
  })
  for (let i = 0; i < 30; i++)
    await seeded.posthaste.call('POST', '/domains', { name: `d${String(i).padStart(2, '0')}.long.example` })
  await page.goto(at('/emails'))
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
