/** How long the dashboard takes from one page to another, in a browser. */
import type { Locator, Page } from 'playwright-core'
import { quantile } from './measured.ts'

/** Milliseconds without a change after which a page stands still; rows of the clock change no elements. */
const STILL_MS = 400

/** What is installed in the page before its scripts: told as text, since scripts know no DOM types. */
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
    // A task after this frame's callbacks runs when the frame is laid out and painted.
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

/** One change of the page. */
interface Change {
  /** From the click to the first frame that shows the new page with the data of all that is in sight. */
  shown: number
  /** From the click to the last element that came or went, of the page's own accord. */
  still: number
  /** Layout shift meanwhile, of what follows the click too (which the usual score leaves out). */
  shift: number
}

/** Has each page of the context watched. */
export async function watchPages(page: Page): Promise<void> {
  await page.addInitScript(WATCH)
}

/** Does `act`, which leads to another page, and waits until that stands still. */
async function change(page: Page, act: () => Promise<unknown>): Promise<Change> {
  await act()
  const [shown, still, shift] = await page.evaluate<[number, number, number]>('bench.standing()')
  return { shown, still, shift }
}

/** A way from one page to another, which begins at the page of another name or an address. */
interface Way {
  name: string
  from: string
  link: (page: Page) => Locator
}

const entry = (label: string) => (page: Page) =>
  page.getByRole('navigation', { name: 'Main' }).first().getByRole('link', { name: label, exact: true })
const firstRow = (page: Page) => page.locator('main [data-row]').nth(3)

/** The entries of the rail, then rows and the way back from them. */
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

/** There is no entry for 90 days: a link in the page, which moves nothing. */
const NINETY = `(() => {
  const link = document.createElement('a')
  Object.assign(link, { id: 'ninety', href: '/dashboard/metrics?range=90d', textContent: '90 days' })
  link.style = 'position: fixed; bottom: 0; right: 0; z-index: 9'
  document.body.append(link)
})()`

/** Milliseconds that the pointer rests on a link before it is pressed, where it does: of somebody in a hurry. */
const REST_MS = 150

/** Milliseconds that somebody looks at a page before going on, and that a short click lasts. */
const [LOOK_MS, CLICK_MS] = [2000, 60]

/** Where to press. Asked for before: a press by a locator looks for what lies there while it is pressed, which takes longer than some pages. */
async function placeOf(link: Locator): Promise<{ x: number; y: number }> {
  await link.scrollIntoViewIfNeeded()
  const box = (await link.boundingBox())!
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 }
}

/** A pointer that comes to a link and presses it in the same moment, for so many milliseconds. */
async function press(page: Page, link: Locator, delay = 0): Promise<Change> {
  const { x, y } = await placeOf(link)
  return change(page, () => page.mouse.click(x, y, { delay }))
}

/** A pointer that rests on a link before. */
async function restAndPress(page: Page, link: Locator): Promise<Change> {
  const { x, y } = await placeOf(link)
  await page.mouse.move(x, y)
  await page.waitForTimeout(REST_MS)
  return change(page, () => page.mouse.click(x, y))
}

/** A page that was loaded just now, and the pointer on nothing. */
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
 * Measures each way: right after the page it begins at was loaded anew (nothing of the other is there yet), Back from there and again
 * a moment later, with a pointer that comes to the link and presses and lets go at once; then the first time for somebody who looked at
 * the page before and clicks as people do, and for one who rests on the link right after the page was loaded.
 * @param page signed in and watched
 * @param only the names of some ways; empty: all
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
