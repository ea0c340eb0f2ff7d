import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { BrowserContext, Page } from 'playwright-core'
import { still } from './browser.ts'

/** Runs axe-core in a test's pages. Each run is limited to what earlier runs, also on other views, can't have found. */

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * `looks()` groups the visible elements with text of their own by what decides their contrast: their font, and the
 * colors and positions of themselves and everything around them.
 */
const LOOKS = `{
  const around = (element, known) => {
    if (!element) return ''
    const found = known.get(element)
    if (found !== undefined) return found
    const { position, opacity, filter, backgroundColor, backgroundImage } = getComputedStyle(element)
    const all = [around(element.parentElement, known), position, opacity, filter, backgroundColor, backgroundImage].join()
    known.set(element, all)
    return all
  }
  const isShown = (element) => {
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return false
    const { left, right, top, bottom } = element.getBoundingClientRect()
    // Text for screen readers only is one pixel large; axe-core doesn't check its contrast.
    return right > 0 && left < innerWidth && bottom + scrollY > 0 && right > left + 1 && bottom > top + 1
  }
  const hasText = (element) => element.placeholder || element.value ||
    [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '')
  const lookOf = (element, known) => {
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(element)
    return [color, fontSize, fontWeight, textShadow, around(element, known)].join()
  }
  globalThis.looks = () => {
    const known = new Map()
    const shown = [...document.body.querySelectorAll('*')].filter((element) => hasText(element) && isShown(element))
    return Map.groupBy(shown, (element) => lookOf(element, known))
  }
}`

/**
 * `computeContrast(theme)` returns the violations of the contrast rule among looks that have not passed in this theme yet,
 * whether on this view or before the page was loaded again. It checks one element per look. Where axe-core can't tell,
 * because something covers the element, it checks all others with that look; if it can't tell for any of them, the look
 * is checked again on the next view. It never can where the look itself has a gradient or an image in its background;
 * such a look is checked once.
 */
const CONTRAST = `{
  const sound = {}
  // Pages without an origin of their own have no storage.
  const storage = location.protocol === 'http:' ? sessionStorage : undefined
  const options = { iframes: false, preload: false, elementRef: true,
    resultTypes: ['violations', 'passes', 'incomplete'], runOnly: ['color-contrast'] }
  const hasPicture = (element) =>
    element !== null && (getComputedStyle(element).backgroundImage !== 'none' || hasPicture(element.parentElement))
  const isOnPicture = ({ element, any }) =>
    ['bgGradient', 'bgImage'].includes(any[0]?.data?.messageKey) && hasPicture(element)
  globalThis.contrastOf = async (theme) => {
    const known = (sound[theme] ??= new Set(JSON.parse(storage?.getItem('looks ' + theme) ?? '[]')))
    const left = new Map([...looks()].filter(([look]) => !known.has(look)))
    const found = []
    const onPicture = new Set()
    const check = async (elements) => {
      const include = elements.filter((element) => element.isConnected)
      if (include.length === 0) return
      const { violations, passes, incomplete } = await axe.run({ include }, options)
      const [failed, passed] = [violations, passes].map((rules) =>
        new Set(rules.flatMap(({ nodes }) => nodes).map(({ element }) => element)))
      for (const [look, elements] of left) {
        if (elements.some((element) => failed.has(element))) left.delete(look)
        else if (elements.some((element) => passed.has(element))) left.delete(look) && known.add(look)
      }
      for (const node of incomplete.flatMap(({ nodes }) => nodes)) if (isOnPicture(node)) onPicture.add(node.element)
      found.push(...violations)
    }
    await check([...left.values()].map(([element]) => element))
    await check([...left.values()].flatMap((elements) => elements.slice(1)))
    for (const [look, elements] of left) if (elements.every((element) => onPicture.has(element))) known.add(look)
    storage?.setItem('looks ' + theme, JSON.stringify([...known]))
    return found
  }
}`

/** Turns off the rules whose findings are at most moderate, which `run` would drop. */
const SERIOUS = `for (const rule of axe._audit.rules)
  if (rule.impact === 'minor' || rule.impact === 'moderate') rule.enabled = false`

/** Installs axe-core in every page that the context loads from now on. */
export async function loadAxe(context: BrowserContext): Promise<void> {
  for (const content of [AXE, SERIOUS, LOOKS, CONTRAST]) await context.addInitScript({ content })
}

/** Returns the serious and critical ones of the violations that a promise in the page resolves to, one per line. */
const lines = (violations: string) =>
  `${violations}.then((violations) => violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, target }) => id + ' ' + target + ' ' + html.slice(0, 160))))`

/**
 * Checks everything but contrast. Skips frames with mail, because they are sandboxed third-party pages. Disables
 * preloading of media, because there is none.
 */
const ALL_BUT_CONTRAST = lines(`axe.run(document, {
  iframes: false, preload: false, resultTypes: ['violations'], rules: { 'color-contrast': { enabled: false } }
}).then(({ violations }) => violations)`)

const contrast = (theme: string) => lines(`contrastOf('${theme}')`)

/** The checks at each width, in light and dark mode. Only colors differ in dark mode. */
const RUNS = [
  { width: 1440, colorScheme: 'light', rules: [ALL_BUT_CONTRAST, contrast('light')] },
  { width: 1440, colorScheme: 'dark', rules: [contrast('dark')] },
  { width: 390, colorScheme: 'light', rules: [ALL_BUT_CONTRAST, contrast('light')] },
  { width: 390, colorScheme: 'dark', rules: [contrast('dark')] },
] as const

/** Sets the state in which views are opened: wide screen, light mode, reduced motion. */
export async function lookWide(page: Page): Promise<void> {
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
}

/**
 * Returns axe-core's findings for the page as it is: wide and narrow, light and dark. Leaves the page narrow and dark.
 */
export async function findings(page: Page): Promise<string[]> {
  const found: string[] = []
  for (const { width, colorScheme, rules } of RUNS) {
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme })
    await still(page)
    for (const rule of rules)
      for (const one of await page.evaluate<string[]>(rule)) found.push(`${width} ${colorScheme}: ${one}`)
  }
  return found
}
