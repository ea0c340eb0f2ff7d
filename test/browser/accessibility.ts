import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { BrowserContext, Page } from 'playwright-core'
import { still } from './browser.ts'

/** axe-core in the pages of a test, each run limited to what the runs before it can't have found. */

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

/** Gives axe-core to every page that the context loads from now on. */
export async function loadAxe(context: BrowserContext): Promise<void> {
  await context.addInitScript({ content: AXE })
  await context.addInitScript({ content: LOOKS })
}

/** Serious and critical findings, one a line; frames of mail are strangers' pages, and locked.
 * Nothing here plays media, for which axe-core would preload files. */
const run = (where: string, rules: string) =>
  `axe.run(${where}, { iframes: false, preload: false, resultTypes: ['violations'], ${rules} }).then(({ violations }) => violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, target }) => id + ' ' + target + ' ' + html.slice(0, 160))))`

const ALL = run('document', 'rules: {}')
const ALL_BUT_CONTRAST = run('document', "rules: { 'color-contrast': { enabled: false } }")
const CONTRAST = run('document', "runOnly: ['color-contrast']")

/** Remembers how things look on a wide screen. */
const remember = (theme: string) => `void ((globalThis.wide ??= {}).${theme} = looksOf())`

/** The contrast of all that appears or looks different on a narrow screen. */
const changedContrast = (theme: string) => `(async () => {
  const changed = [...looksOf()].filter(([element, look]) => wide.${theme}.get(element) !== look).map(([element]) => element)
  return changed.length === 0 ? [] : ${run('{ include: changed }', "runOnly: ['color-contrast']")}
})()`

/** What runs at each width and by day and by night. Wide first: only colors differ by night, and few of them by width. */
const RUNS = [
  { width: 1440, colorScheme: 'light', rules: [ALL, remember('light')] },
  { width: 1440, colorScheme: 'dark', rules: [CONTRAST, remember('dark')] },
  { width: 390, colorScheme: 'light', rules: [ALL_BUT_CONTRAST, changedContrast('light')] },
  { width: 390, colorScheme: 'dark', rules: [changedContrast('dark')] },
] as const

/** How a view is opened: on a wide screen by day, without motion. */
export async function lookWide(page: Page): Promise<void> {
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
}

/** What axe-core finds in the page as it is, wide and narrow, by day and by night. The page is left narrow and dark. */
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
