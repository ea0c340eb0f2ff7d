import axe from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startSeeded, type Seeded } from '../world/seeded.ts'
import { allViews, PARTS, settled, signIn, viewsOf, type View } from './all-pages.ts'
import { launch, openPage, still, type Watched } from './browser.ts'

/** Every page with data, looked at by axe-core: by day and by night, on a wide screen and on a telephone. */

let seeded: Seeded
let browser: Browser
let inside: Watched
let outside: Watched

beforeAll(async () => {
  seeded = await startSeeded({ days: 2, emailsPerDay: 40 })
  browser = await launch()
  inside = await openPage(browser)
  outside = await openPage(browser)
  await signIn(inside.page, seeded)
})
afterAll(async () => {
  await browser?.close()
  await seeded?.close()
})

/** Serious and critical findings, one a line; frames of mail are strangers' pages, and locked. */
const run = (
  rules: string,
) => `axe.run(document, { iframes: false, resultTypes: ['violations']${rules} }).then(({ violations }) => violations
  .filter(({ impact }) => impact === 'serious' || impact === 'critical')
  .flatMap(({ id, nodes }) => nodes.map(({ html, target }) => id + ' ' + target + ' ' + html.slice(0, 160))))`

/** Only colours differ by night. */
const LOOKS = [
  { colorScheme: 'light', rules: run('') },
  { colorScheme: 'dark', rules: run(", runOnly: ['color-contrast']") },
] as const

/** Wide first: what is opened on a view is opened there. */
const WIDTHS = [1440, 390]

async function findings(page: Page, { name, path, act }: View): Promise<string[]> {
  const found: string[] = []
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  await page.goto('about:blank')
  await page.goto(`${seeded.posthaste.url}/dashboard${path}`)
  await settled(page)
  await act?.(page)
  await page.evaluate(axe.source)
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 })
    for (const { colorScheme, rules } of LOOKS) {
      await page.emulateMedia({ colorScheme })
      await still(page)
      const said = await page.evaluate<string[]>(rules)
      found.push(...said.map((one) => `${name} ${width} ${colorScheme}: ${one}`))
    }
  }
  return found
}

test('all views are looked at', async () => {
  const views = await allViews(inside.page, seeded)
  expect(views.length).toBeGreaterThan(30)
  expect(new Set(views.map(({ name }) => name)).size).toBe(views.length)
})

test.each(PARTS)('axe finds nothing serious: %s', { timeout: 600_000 }, async (part) => {
  const found: string[] = []
  for (const view of await viewsOf(part, inside.page, seeded)) {
    const { page } = view.outside ? outside : inside
    await findings(page, view).then(
      (more) => found.push(...more),
      (reason: unknown) => found.push(`${view.name}: ${String(reason)}`),
    )
  }
  expect(found).toEqual([])
})

test('no page made a script error', () => {
  expect([...inside.errors, ...outside.errors]).toEqual([])
})
