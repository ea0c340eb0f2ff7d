import axe from 'axe-core'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startSeeded, type Seeded } from '../world/seeded.ts'
import { allViews, settled, signIn, type View } from './all-pages.ts'
import { launch, openPage } from './browser.ts'
import { buildDashboard } from './build.ts'

/** Every page with data, looked at by axe-core: by day and by night, on a wide screen and on a telephone. */

let seeded: Seeded
let browser: Browser
let dashboard: string

beforeAll(async () => {
  dashboard = await mkdtemp(join(tmpdir(), 'posthaste-ui-'))
  await buildDashboard(dashboard)
  seeded = await startSeeded({ days: 2, emailsPerDay: 40, dashboard })
  browser = await launch()
}, 120_000)
afterAll(async () => {
  await browser?.close()
  await seeded?.close()
  await rm(dashboard, { recursive: true, force: true })
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

/** Colours have changed over: two frames are painted, and what fades has come to rest. */
const STILL = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 150))))`

async function findings(page: Page, { name, path, act }: View): Promise<string[]> {
  const found: string[] = []
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  await page.goto('about:blank')
  await page.goto(`${seeded.posthaste.url}/dashboard${path}`)
  await settled(page)
  await act?.(page)
  await page.evaluate(axe.source)
  for (const width of [1440, 390])
    for (const { colorScheme, rules } of LOOKS) {
      await page.setViewportSize({ width, height: 900 })
      await page.emulateMedia({ colorScheme })
      await page.evaluate(STILL)
      const said = await page.evaluate<string[]>(rules)
      found.push(...said.map((one) => `${name} ${width} ${colorScheme}: ${one}`))
    }
  return found
}

test('axe finds nothing serious on any page', { timeout: 300_000 }, async () => {
  const inside = await openPage(browser)
  const outside = await openPage(browser)
  await signIn(inside.page, seeded)
  const views = await allViews(inside.page, seeded)
  expect(views.length).toBeGreaterThan(30)
  const found: string[] = []
  for (const view of views) {
    const { page } = view.outside ? outside : inside
    await findings(page, view).then(
      (more) => found.push(...more),
      (reason: unknown) => found.push(`${view.name}: ${String(reason)}`),
    )
  }
  expect(found).toEqual([])
  expect([...inside.errors, ...outside.errors]).toEqual([])
})
