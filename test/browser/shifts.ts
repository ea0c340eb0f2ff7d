import type { Page } from 'playwright-core'

/** Detects layout shifts while a page loads, in whatever order its responses arrive. */

/**
 * Records what shifted, and by how much. Freezes the page's clock, because a relative time that changes its text shifts
 * its neighbors.
 */
const WATCH = `(() => {
  const real = window.setInterval
  window.setInterval = (act, wait, ...rest) => (wait === 1000 ? 0 : real(act, wait, ...rest))
  window.shifts = []
  new PerformanceObserver((list) => {
    for (const { value, sources } of list.getEntries())
      window.shifts.push([value, ...sources.map(({ node }) => node?.outerHTML?.slice(0, 80))])
  }).observe({ type: 'layout-shift', buffered: true })
})()`

/** Installs the observer in each document that the page loads from now on. */
export const watchShifts = (page: Page): Promise<unknown> => page.addInitScript(WATCH)

/** Returns what has shifted in the document since it was loaded; empty if nothing did. */
export const shiftsOf = (page: Page): Promise<unknown[]> => page.evaluate('window.shifts')

/**
 * Blocks the page's requests to these paths. Each returned function releases the responses of one path and waits for
 * the first.
 */
export async function inOrder(page: Page, paths: readonly string[]): Promise<(() => Promise<unknown>)[]> {
  return Promise.all(
    paths.map(async (path) => {
      const leave = Promise.withResolvers<undefined>()
      await page.route(
        ({ pathname }) => pathname === path,
        async (route) => {
          await leave.promise
          await route.continue().catch(() => undefined) // The page does not ask any more.
        },
      )
      return () => {
        const come = page.waitForResponse((answer) => new URL(answer.url()).pathname === path)
        leave.resolve(undefined)
        return come
      }
    }),
  )
}
