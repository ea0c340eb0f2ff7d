import type { Page } from 'playwright-core'

/** Whether something moves of its own accord while a page fills, and in whatever order its answers come. */

/** Whatever moved, and by how much. The page's clock stands: a time that has another text a second later moves what is beside it. */
const WATCH = `(() => {
  const real = window.setInterval
  window.setInterval = (act, wait, ...rest) => (wait === 1000 ? 0 : real(act, wait, ...rest))
  window.shifts = []
  new PerformanceObserver((list) => {
    for (const { value, sources } of list.getEntries())
      window.shifts.push([value, ...sources.map(({ node }) => node?.outerHTML?.slice(0, 80))])
  }).observe({ type: 'layout-shift', buffered: true })
})()`

/** Watches each document that the page loads from now on. */
export const watchShifts = (page: Page): Promise<unknown> => page.addInitScript(WATCH)

/** What moved in the document since it was loaded: nothing, if all is well. */
export const shiftsOf = (page: Page): Promise<unknown[]> => page.evaluate('window.shifts')

/** Holds back what the page asks of these paths; each returned function lets the answers of one come, and waits for the first. */
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
