import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startSeeded, type Seeded } from '../world/seeded.ts'
import { findings, loadAxe, lookWide } from './accessibility.ts'
import { allViews, PARTS, settled, signIn, viewsOf, type View } from './all-pages.ts'
import { launch, openPage, type Watched } from './browser.ts'

/** Runs axe-core on every page with data: light and dark, on desktop and phone. */

let seeded: Seeded
let browser: Browser
let inside: Watched
let outside: Watched

beforeAll(async () => {
  seeded = await startSeeded({ days: 2, emailsPerDay: 40 })
  browser = await launch()
  inside = await openPage(browser)
  outside = await openPage(browser)
  for (const { context } of [inside, outside]) await loadAxe(context)
  await signIn(inside.page, seeded)
})
afterAll(async () => {
  await browser?.close()
  await seeded?.close()
})

const MISSING = '/nowhere'

/**
 * Opens a view from another one and performs its actions. Without a reload, axe-core stays compiled. Goes through the
 * not-found page, so that nothing of the previous view is mistaken for the new one.
 */
async function open(page: Page, { path, outside, act }: View, isTouched: boolean): Promise<void> {
  if (isTouched || outside || path === MISSING) {
    await page.goto(`${seeded.posthaste.url}/dashboard${path}`)
  } else {
    const missing = page.getByRole('heading', { name: 'Page not found', exact: true })
    await page.evaluate(follow(MISSING))
    await missing.waitFor()
    await page.evaluate(follow(path))
    await missing.waitFor({ state: 'detached' })
  }
  await settled(page)
  await act?.(page)
}

/** Navigates within the dashboard, like the browser's Forward button. */
const follow = (path: string) => `history.pushState(null, '', ${JSON.stringify(`/dashboard${path}`)})
  void dispatchEvent(new PopStateEvent('popstate'))`

test('checks more than 30 views with unique names', async () => {
  const views = await allViews(inside.page, seeded)
  expect(views.length).toBeGreaterThan(30)
  expect(new Set(views.map(({ name }) => name)).size).toBe(views.length)
})

test.each(PARTS)('axe reports no serious problem: %s', { timeout: 600_000 }, async (part) => {
  const found: string[] = []
  // Actions on a view, or the previous group, may have left something behind.
  let isTouched = true
  for (const view of await viewsOf(part, inside.page, seeded)) {
    const { page } = view.outside ? outside : inside
    try {
      await lookWide(page)
      await open(page, view, isTouched)
      found.push(...(await findings(page)).map((one) => `${view.name} ${one}`))
    } catch (reason) {
      // The other views are checked nevertheless.
      found.push(`${view.name}: ${String(reason)}`)
    }
    isTouched = view.act !== undefined || view.outside === true
  }
  expect(found).toEqual([])
})

/** A page with one low-contrast text per run, visible only there, and an image that only a narrow screen shows. */
const FAINT_IN_EACH = `<!doctype html><html lang="en"><title>Faint</title><meta name="viewport" content="width=device-width"><style>
  :root { color-scheme: light dark; background: light-dark(#fff, #000) }
  p, a { color: light-dark(#000, #fff) }
  .day { color: light-dark(#ccc, #fff) } .night { color: light-dark(#000, #333) }
  img { display: none } .wide, .narrow { display: none }
  @media (width > 800px) { .wide { display: block } }
  @media (width < 800px) { .narrow, img { display: block } #ground { background: light-dark(#333, #ccc) } }
</style><main><h1>Faint</h1><p class="wide day">Wide by day</p><p class="wide night">Wide by night</p><p class="narrow day">Narrow by day</p><p class="narrow night">Narrow by night</p>
<div id="ground"><p id="other">On another ground</p></div><p>Clear</p><img src="data:," height="9" width="9"></main></html>`

test('reports problems that occur only at one width or color scheme', async () => {
  await outside.page.goto('about:blank')
  await outside.page.setContent(FAINT_IN_EACH)
  await lookWide(outside.page)
  const found = await findings(outside.page)
  expect(found.map((one) => one.replace(/ <.*/, ''))).toEqual([
    '1440 light: color-contrast .wide.day',
    '1440 dark: color-contrast .wide.night',
    '390 light: image-alt img',
    '390 light: color-contrast .narrow.day',
    '390 light: color-contrast #other',
    '390 dark: color-contrast .narrow.night',
    '390 dark: color-contrast #other',
  ])
})

test('no page caused a script error', () => {
  expect([...inside.errors, ...outside.errors]).toEqual([])
})
