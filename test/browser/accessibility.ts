import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { BrowserContext, Page } from 'playwright-core'
import { still } from './browser.ts'

/** Runs axe-core in a test's pages. Each run is limited to what earlier runs can't have found. */

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * `looksOf()` maps each visible element with text of its own to what decides its contrast: its font, and the colors and
 * positions of itself and everything around it.
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
    return right > 0 && left < innerWidth && bottom + scrollY > 0 && right > left && bottom > top
  }
  const hasText = (element) => element.placeholder || element.value ||
    [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '')
  globalThis.looksOf = () => {
    const known = new Map()
    return new Map([...document.body.querySelectorAll('*')]
      .filter((element) => hasText(element) && isShown(element))
      .map((element) => {
        const { color, fontSize, fontWeight, textShadow } = getComputedStyle(element)
        return [element, [color, fontSize, fontWeight, textShadow, around(element, known)].join()]
      }))
  }
}`

/** Installs axe-core in every page that the context loads from now on. */
export async function loadAxe(context: BrowserContext): Promise<void> {
  await context.addInitScript({ content: AXE })
  await context.addInitScript({ content: LOOKS })
}

/**
 * Returns serious and critical findings, one per line. Skips frames with mail, because they are sandboxed third-party
 * pages. Disables preloading of media, because there is none.
 */
const run = (where: string, rules: string) =>
  `axe.run(${where}, { iframes: false, preload: false, resultTypes: ['violations'], ${rules} }).then(({ violations }) => violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, target }) => id + ' ' + target + ' ' + html.slice(0, 160))))`

const ALL = run('document', 'rules: {}')
const ALL_BUT_CONTRAST = run('document', "rules: { 'color-contrast': { enabled: false } }")
const CONTRAST = run('document', "runOnly: ['color-contrast']")

/** Records the appearance of elements on a wide screen. */
const remember = (theme: string) => `void ((globalThis.wide ??= {}).${theme} = looksOf())`

/** Checks the contrast of everything that appears or looks different on a narrow screen. */
const changedContrast = (theme: string) => `(async () => {
  const changed = [...looksOf()].filter(([element, look]) => wide.${theme}.get(element) !== look).map(([element]) => element)
  return changed.length === 0 ? [] : ${run('{ include: changed }', "runOnly: ['color-contrast']")}
})()`

/**
 * The checks at each width, in light and dark mode. Wide runs first, because only colors differ in dark mode, and few
 * of them differ by width.
 */
const RUNS = [
  { width: 1440, colorScheme: 'light', rules: [ALL, remember('light')] },
  { width: 1440, colorScheme: 'dark', rules: [CONTRAST, remember('dark')] },
  { width: 390, colorScheme: 'light', rules: [ALL_BUT_CONTRAST, changedContrast('light')] },
  { width: 390, colorScheme: 'dark', rules: [changedContrast('dark')] },
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
      for (const one of (await page.evaluate<string[] | undefined>(rule)) ?? [])
        found.push(`${width} ${colorScheme}: ${one}`)
  }
  return found
}
