/** Measures how the long list of emails scrolls, in a browser. */
import type { CDPSession, Page } from 'playwright-core'
import type { DashboardServer } from './dashboard-server.ts'
import { quantile } from './measured.ts'

/**
 * Records each frame: the time since the previous frame, the number of rows, and whether part of the window is blank.
 */
const RECORD = `(() => {
  const record = (window.record = { frames: [], rows: 0, blank: 0, on: true })
  let last = performance.now()
  const blankAt = (y) => {
    const seen = document.elementFromPoint(innerWidth / 2, y)
    return seen?.closest('tr.gap') !== null
  }
  const frame = () => {
    if (!record.on) return
    const now = performance.now()
    record.frames.push(now - last)
    last = now
    record.rows = Math.max(record.rows, document.querySelectorAll('main tbody tr').length)
    if ([0.3, 0.6, 0.9].some((part) => blankAt(innerHeight * part))) record.blank++
    requestAnimationFrame(frame)
  }
  requestAnimationFrame(frame)
})()`

interface Frames {
  frames: number[]
  /** Maximum number of rows in the document. */
  rows: number
  /** Number of frames in which part of the window was blank. */
  blank: number
}

/** A page with a DevTools session. */
interface Watched {
  page: Page
  session: CDPSession
}

async function watched(page: Page): Promise<Watched> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  return { page, session }
}

/** Returns the JavaScript heap size after garbage collection, in megabytes. */
async function heap({ session }: Watched): Promise<number> {
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  return usedSize / 1_000_000
}

/**
 * Returns the CPU time of the page's main thread so far, in milliseconds. Of all measurements, it is least affected by
 * other load on the machine.
 */
async function spent({ session }: Watched): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics')
  return metrics.find(({ name }) => name === 'TaskDuration')!.value * 1000
}

/** Runs `act` and prints statistics about the frames. */
async function framesOf(on: Watched, name: string, act: () => Promise<unknown>): Promise<void> {
  const { page } = on
  const before = await heap(on)
  await page.evaluate(RECORD)
  const began = await spent(on)
  await act()
  const busy = (await spent(on)) - began
  const { frames, rows, blank } = await page.evaluate<Frames>('((record.on = false), record)')
  const after = await heap(on)
  const length = await page.evaluate<number>(
    `[...document.querySelectorAll('main tbody tr')].reduce((sum, row) => sum + row.getBoundingClientRect().height, 0) /
      document.querySelector('main tbody tr:not(.gap)').getBoundingClientRect().height`,
  )
  const ms = (value: number): string => `${value.toFixed(0)} ms`.padEnd(8)
  console.log(
    `${name.padEnd(36)}${String(frames.length).padEnd(8)}${ms(quantile(frames, 0.5))}${ms(quantile(frames, 0.95))}` +
      `${ms(quantile(frames, 0.99))}${ms(Math.max(...frames))}${String(frames.filter((one) => one > 50).length).padEnd(7)}` +
      `${String(blank).padEnd(7)}${String(rows).padEnd(6)}${length.toFixed(0).padEnd(9)}` +
      `${before.toFixed(1)} to ${after.toFixed(1)} MB`.padEnd(18) +
      `${(busy / frames.length).toFixed(1)} ms`,
  )
}

/** Number of pixels per wheel step, and milliseconds between steps. */
const TURN = { pixels: 400, pause: 30 }

async function byWheel(page: Page, screens: number, direction: 1 | -1): Promise<void> {
  await page.mouse.move(700, 400)
  const turns = (screens * 800) / TURN.pixels
  for (let turn = 0; turn < turns; turn++) {
    await page.mouse.wheel(0, direction * TURN.pixels)
    await page.waitForTimeout(TURN.pause)
  }
}

/** Jumps to the end of the loaded rows repeatedly, as with the scroll bar or the End key. */
async function byJumps(page: Page, seconds: number): Promise<void> {
  const end = Date.now() + seconds * 1000
  while (Date.now() < end) {
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
    await page.waitForTimeout(20)
  }
}

/** Number of list pages combined into one response, so that filling the list takes only seconds. */
const AT_ONCE = 50

/** Loads more rows until the list has its maximum length or everything is loaded. */
async function fill(page: Page): Promise<void> {
  await page.route(/\/emails\/search\?.*after=/, async (route) => {
    const url = new URL(route.request().url())
    const rows: unknown[] = []
    let last: { data: unknown[]; next: string | null }
    let parts = 0
    do {
      last = (await (await route.fetch({ url: url.href })).json()) as typeof last
      rows.push(...last.data)
      url.searchParams.set('after', last.next ?? '')
    } while (last.next !== null && ++parts < AT_ONCE)
    await route.fulfill({ json: { ...last, data: rows } })
  })
  const end = page.getByText(/^That is all|^This list ends/)
  while (!(await end.isVisible())) {
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
    await page.waitForTimeout(50)
  }
  await page.unrouteAll()
}

/** Jumps between random positions of the loaded rows. */
async function toAndFro(page: Page): Promise<void> {
  for (let i = 1; i <= 60; i++) {
    await page.evaluate(
      `scrollTo(0, document.documentElement.scrollHeight * ${((i * 0.618) % 1).toFixed(4)})`,
    )
    await page.waitForTimeout(50)
  }
}

const PER_SECOND = 20

/** Sends emails in one request, as an app does. */
export async function sendEmails(
  { url, apiKey, domain }: DashboardServer,
  many: number,
  subject: string,
): Promise<void> {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }
  const emails = Array.from({ length: many }, (_, i) => ({
    from: `Shop <shop@${domain}>`,
    to: `person${i}@reader.example`,
    text: 'Hello',
    subject: `${subject} ${i}`,
  }))
  const body = JSON.stringify(emails)
  const answer = await fetch(`${url}/emails/batch`, { method: 'POST', headers, body })
  if (!answer.ok) throw new Error(`POST /emails/batch answered ${answer.status}: ${await answer.text()}`)
}

/** Lets emails arrive while the list is being read. */
async function arriving(page: Page, served: DashboardServer, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await sendEmails(served, PER_SECOND, `Now ${second}`)
    await page.waitForTimeout(1000)
  }
}

/** Returns the position of the row being read. */
const READ = `(() => {
  const row = [...document.querySelectorAll('main [data-row]')].find((one) => one.getBoundingClientRect().top > 300)
  return [row.dataset.row, row.getBoundingClientRect().top]
})()`

/** Returns how many pixels the row being read moved while `act` ran. */
async function moved(page: Page, act: () => Promise<unknown>): Promise<string> {
  const [id, top] = await page.evaluate<[string, number]>(READ)
  await act()
  const now = await page.evaluate<number | null>(
    `document.querySelector('[data-row="${id}"]')?.getBoundingClientRect().top ?? null`,
  )
  return now === null ? 'away' : `${Math.abs(now - top).toFixed(1)} px`
}

/** Scrolls the list in different ways, and prints statistics about the frames. */
export async function measureList(
  page: Page,
  served: DashboardServer,
  { screens, seconds }: { screens: number; seconds: number },
): Promise<void> {
  await page.goto(`${served.url}/dashboard/emails`)
  await page.locator('main [data-row]').first().waitFor()
  console.log(
    '\nlist                                frames  p50     p95     p99     longest >50 ms blank  rows  loaded   heap              main thread per frame',
  )
  const on = await watched(page)
  await framesOf(on, 'standing still', () => page.waitForTimeout(2000))
  await framesOf(on, `${screens} screens down by wheel`, () => byWheel(page, screens, 1))
  await framesOf(on, `${screens} screens up by wheel`, () => byWheel(page, screens, -1))
  await framesOf(on, `jumping to the end, ${seconds} s`, () => byJumps(page, seconds))
  await framesOf(on, 'to and fro', () => toAndFro(page))
  await framesOf(on, 'filling the list', () => fill(page))
  await framesOf(on, 'to and fro in the full list', () => toAndFro(page))
  await framesOf(on, `${screens} screens up in the full list`, () => byWheel(page, screens, -1))
  await page.evaluate('scrollTo(0, 4000)')
  await page.waitForTimeout(500)
  let away = ''
  await framesOf(on, `reading while ${PER_SECOND} a second arrive`, async () => {
    away = await moved(page, () => arriving(page, served, 10))
  })
  await page.evaluate('scrollTo(0, 0)')
  await page.waitForTimeout(500)
  await framesOf(on, `at the top while ${PER_SECOND} a second arrive`, () => arriving(page, served, 10))
  console.log(`the row being read moved by ${away}`)
}
