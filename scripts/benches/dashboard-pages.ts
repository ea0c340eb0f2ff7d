/** Measures how long the dashboard takes to change pages, in a browser. */
import type { Locator, Page } from 'playwright-core'
import { quantile } from './measured.ts'

/**
 * Time without a change after which a page counts as settled, in milliseconds. Updates of relative times in rows don't
 * count as changes.
 */
const STILL_MS = 400

/** Code that is installed in the page before the page's scripts. It is a string because scripts/ has no DOM types. */
const WATCH = `(() => {
  const bench = (window.bench = { shifts: 0, shown: null, pending: null, changed: 0 })
  new PerformanceObserver((list) => {
    for (const { value } of list.getEntries()) bench.shifts += value
  }).observe({ type: 'layout-shift', buffered: true })
  new MutationObserver((records) => {
    if (records.some(({ target }) => target.closest?.('main'))) bench.changed = performance.now()
  }).observe(document, { childList: true, subtree: true })

  const seen = (element) => element.getBoundingClientRect().top < innerHeight
  const there = () => {
    const main = document.querySelector('main')
    return main?.querySelector('h1') && !main.querySelector('[data-was]') && ![...main.querySelectorAll('.skeleton')].some(seen)
  }
  const look = () => {
    if (!there()) return requestAnimationFrame(look)
    // A task queued in this frame's callbacks runs after layout and paint.
    const channel = new MessageChannel()
    channel.port1.onmessage = () => (bench.shown = performance.now() - bench.began)
    channel.port2.postMessage(null)
  }
  bench.follow = (began) => {
    Object.assign(bench, { began, shifts: 0, shown: null, changed: began })
    for (const element of document.querySelectorAll('main > *')) element.dataset.was = ''
    requestAnimationFrame(look)
  }
  bench.standing = async () => {
    const moving = () => bench.shown === null || performance.now() - Math.max(bench.changed, bench.began + bench.shown) < ${STILL_MS}
    while (moving()) await new Promise((resolve) => setTimeout(resolve, 20))
    return [bench.shown, Math.max(bench.shown, bench.changed - bench.began), bench.shifts]
  }
  addEventListener('click', (event) => bench.follow(event.timeStamp), true)
  addEventListener('popstate', (event) => bench.follow(event.timeStamp), true)
})()`

/** Measurements of one page change. */
interface Change {
  /** Time from the click to the first frame that shows the new page with all visible data. */
  shown: number
  /** Time from the click to the last element that the page added or removed without further input. */
  still: number
  /** Layout shift during the change, including shifts directly after the click, which the standard score ignores. */
  shift: number
}

/** Installs the observer in every page of the context. */
export async function watchPages(page: Page): Promise<void> {
  await page.addInitScript(WATCH)
}

/** Runs `act`, which navigates to another page, and waits until that page settles. */
async function change(page: Page, act: () => Promise<unknown>): Promise<Change> {
  await act()
  const [shown, still, shift] = await page.evaluate<[number, number, number]>('bench.standing()')
  return { shown, still, shift }
}

/** A navigation from one page to another. It starts at a named page or at a URL. */
interface Way {
  name: string
  from: string
  link: (page: Page) => Locator
}

const entry = (label: string) => (page: Page) =>
  page.getByRole('navigation', { name: 'Main' }).first().getByRole('link', { name: label, exact: true })
const firstRow = (page: Page) => page.locator('main [data-row]').nth(3)

/** Returns the navigations to the sidebar's entries, to the metrics of 90 days, and to rows of lists. */
async function waysOf(page: Page): Promise<Way[]> {
  const links = page.getByRole('navigation', { name: 'Main' }).first().getByRole('link')
  const labels = (await links.allTextContents()).map((label) => label.trim())
  const entries = labels.map((label) => ({
    name: label,
    from: label === 'Emails' ? '/api-keys' : '/emails',
    link: entry(label),
  }))
  return [
    ...entries,
    { name: 'Metrics, 90 days', from: '/emails', link: (at) => at.locator('#ninety') },
    { name: 'an email of the list', from: '/emails', link: firstRow },
    { name: 'a domain of the list', from: '/domains', link: firstRow },
    { name: 'a request of the log', from: '/logs', link: firstRow },
  ]
}

/** Adds a link to 90 days, which the UI doesn't have, without shifting the layout. */
const NINETY = `(() => {
  const link = document.createElement('a')
  Object.assign(link, { id: 'ninety', href: '/dashboard/metrics?range=90d', textContent: '90 days' })
  link.style = 'position: fixed; bottom: 0; right: 0; z-index: 9'
  document.body.append(link)
})()`

/** How long a user in a hurry hovers over a link before clicking, in milliseconds. */
const REST_MS = 150

/** How long a user looks at a page before the next click, and how long a quick click lasts, in milliseconds. */
const [LOOK_MS, CLICK_MS] = [2000, 60]

/**
 * Returns where to click. Called in advance, because Playwright's click checks what is at the position, which takes
 * longer than some page changes.
 */
async function placeOf(link: Locator): Promise<{ x: number; y: number }> {
  await link.scrollIntoViewIfNeeded()
  const box = (await link.boundingBox())!
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 }
}

/** Moves the pointer to a link and presses immediately, holding for `delay` milliseconds. */
async function press(page: Page, link: Locator, delay = 0): Promise<Change> {
  const { x, y } = await placeOf(link)
  return change(page, () => page.mouse.click(x, y, { delay }))
}

/** Hovers over a link before clicking it. */
async function restAndPress(page: Page, link: Locator): Promise<Change> {
  const { x, y } = await placeOf(link)
  await page.mouse.move(x, y)
  await page.waitForTimeout(REST_MS)
  return change(page, () => page.mouse.click(x, y))
}

/** Reloads a page, with the pointer away from all elements. */
async function begin(page: Page, origin: string, path: string): Promise<void> {
  await page.mouse.move(640, 1)
  await page.goto(`${origin}/dashboard${path}`)
  await page.locator('main h1').first().waitFor()
  await page.locator('main .skeleton').first().waitFor({ state: 'detached' })
  await page.evaluate(NINETY)
}

function print(name: string, changes: readonly Change[]): void {
  const shown = changes.map((one) => one.shown)
  const ms = (value: number): string => `${value.toFixed(0)} ms`.padEnd(10)
  const shift = Math.max(...changes.map((one) => one.shift))
  const still = quantile(
    changes.map((one) => one.still),
    0.5,
  )
  console.log(
    `${name.padEnd(34)}${ms(quantile(shown, 0.5))}${ms(quantile(shown, 0.95))}${ms(Math.max(...shown))}` +
      `${ms(still)}${shift.toFixed(3)}`,
  )
}

const KINDS = ['first', 'looked', 'rested', 'again', 'back'] as const
type Changes = Record<(typeof KINDS)[number], Change[]>
const none = (): Changes => ({ first: [], looked: [], rested: [], again: [], back: [] })

async function measureWay(page: Page, origin: string, { from, link }: Way, of: Changes): Promise<void> {
  await begin(page, origin, from)
  of.first.push(await press(page, link(page)))
  of.back.push(await change(page, () => page.evaluate('history.back()')))
  await page.mouse.move(640, 1)
  of.again.push(await press(page, link(page)))
  await begin(page, origin, from)
  await page.waitForTimeout(LOOK_MS)
  of.looked.push(await press(page, link(page), CLICK_MS))
  await begin(page, origin, from)
  of.rested.push(await restAndPress(page, link(page)))
}

/**
 * Measures each navigation several times. First right after the starting page has loaded (nothing of the next page is
 * cached), then back, and again a moment later, all with instant clicks. Then for a user who looks at the page before a
 * normal click, and for one who hovers over the link right after the page has loaded.
 * @param page signed in and observed
 * @param only names of navigations to measure; empty for all
 */
export async function measurePages(
  page: Page,
  origin: string,
  rounds: number,
  only: readonly string[],
): Promise<void> {
  const ways = (await waysOf(page)).filter(({ name }) => only.length === 0 || only.includes(name))
  console.log('page change                       p50       p95       max       still     shift')
  const all = none()
  for (const way of ways) {
    const of = none()
    for (let round = 0; round < rounds; round++) await measureWay(page, origin, way, of)
    for (const kind of KINDS) {
      print(`${way.name}, ${kind}`, of[kind])
      all[kind].push(...of[kind])
    }
  }
  for (const kind of KINDS) print(`all, ${kind}`, all[kind])
}
