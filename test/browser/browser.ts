import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
} from 'playwright-core'
import { COPY_RESULT_MS, TOAST_WITH_BUTTON_MS, TOAST_MS } from '../../ui/src/state/durations.ts'
import { PATIENCE } from '../world/patience.ts'

/** Starts the system's Chromium headless, without any background network traffic of its own. */
export const launch = (): Promise<Browser> =>
  chromium.launch({
    timeout: PATIENCE,
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell',
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })

/** Keeps toasts open. On a busy machine they would disappear before the test sees them. */
const NOTES_STAY = `{
  const later = window.setTimeout
  const notes = ${JSON.stringify([COPY_RESULT_MS, TOAST_WITH_BUTTON_MS, TOAST_MS])}
  window.setTimeout = (act, ms, ...more) => (notes.includes(ms) ? 0 : later(act, ms, ...more))
}`

/** Errors inside a page, except for refusals that it shows to its user. */
export interface Watched {
  page: Page
  context: BrowserContext
  errors: string[]
}

/** Turns on the browser's data saver, so that the dashboard loads only the page that is open. */
const SAVES_DATA = "Object.defineProperty(navigator, 'connection', { value: { saveData: true } })"

export interface PageOptions extends BrowserContextOptions {
  /** Leaves the data saver off: the dashboard preloads its other pages. */
  preloads?: true
}

/** Opens a page with its own cookies, without animations. Collects script errors and policy violations. */
export async function openPage(browser: Browser, options: PageOptions = {}): Promise<Watched> {
  const { preloads, ...own } = options
  const viewport = { width: 1280, height: 800 }
  const context = await browser.newContext({ viewport, reducedMotion: 'reduce', ...own })
  await context.addInitScript(NOTES_STAY)
  if (!preloads) await context.addInitScript(SAVES_DATA)
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE)
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('console', (message) => {
    const expected = message.text().startsWith('Failed to load resource')
    if (message.type() === 'error' && !expected) errors.push(message.text())
  })
  return { page, context, errors }
}

/**
 * Blocks the page's requests to the appliance, except for its static files, until the returned function is called. The
 * page then sees changes only when the test allows it, not through a poll between two steps.
 */
export async function holdData(page: Page): Promise<() => void> {
  const held = Promise.withResolvers<undefined>()
  await page.route(
    ({ pathname }) => !pathname.startsWith('/dashboard'),
    async (route) => {
      await held.promise
      await route.continue().catch(() => undefined) // The page does not ask any more.
    },
  )
  return () => held.resolve(undefined)
}

/** Waits until two frames are painted and all animations have ended. */
const STILL = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))).then(() =>
  Promise.allSettled(document.getAnimations()
    .filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity)
    .map(({ finished }) => finished)))`

/** Resolves when colors and positions no longer change. */
export const still = async (page: Page): Promise<void> => void (await page.evaluate(STILL))

/** Finds controls without an accessible name. Runs in the page, and is a string because tests have no DOM types. */
const NAMELESS = `[...document.querySelectorAll('a[href], button, input, select, textarea, iframe, [role=button]')]
  .filter((element) => element.checkVisibility())
  .filter((element) => {
    const label = element.getAttribute('aria-label') || element.getAttribute('title') ||
      element.labels?.[0]?.textContent || element.textContent
    return !label?.trim()
  })
  .map((element) => element.outerHTML.slice(0, 200))`

/** Finds visible texts with a contrast under 4.5:1 (WCAG 2.2, 1.4.3), with the measured ratio. */
const FAINT = `(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
  const known = new Map()
  const rgba = (color) => {
    if (!known.has(color)) known.set(color, painted(color))
    return known.get(color)
  }
  const painted = (color) => {
    canvas.clearRect(0, 0, 1, 1)
    canvas.fillStyle = color
    canvas.fillRect(0, 0, 1, 1)
    return [...canvas.getImageData(0, 0, 1, 1).data]
  }
  const luminance = (color) => {
    const [r, g, b] = color.map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const style = getComputedStyle(at)
      if (style.backgroundImage !== 'none') return null
      const color = rgba(style.backgroundColor)
      if (color[3] === 255) return color
    }
    return rgba('Canvas')
  }
  const faint = []
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '')
    if (!own || !element.checkVisibility() || element.closest('.spoken, [aria-disabled=true]')) continue
    const behind = ground(element)
    if (behind === null) continue
    const [low, high] = [luminance(rgba(getComputedStyle(element).color)), luminance(behind)].sort((a, b) => a - b)
    const ratio = (high + 0.05) / (low + 0.05)
    if (ratio < 4.5) faint.push(ratio.toFixed(2) + ' ' + element.textContent.trim().slice(0, 40))
  }
  return faint
})()`

export const namelessControls = (page: Page): Promise<string[]> => page.evaluate(NAMELESS)
export const faintTexts = (page: Page): Promise<string[]> => page.evaluate(FAINT)

/** Returns how much wider the page is than its window, in pixels. */
export const sidewaysScroll = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
