/** Colors of the charts. A canvas can't use custom properties, so the browser computes them. */
import type { ChartColors } from './chart.ts'
import type { Tone } from './status.ts'

/** Computed styles by theme. Cached because reading them forces a style recalculation, and there are many charts. */
const known = new Map<string, string>()

/**
 * Returns the computed colors of a chart.
 * @param probe a hidden element on the page
 * @param theme the cache key
 */
export function getColors(probe: HTMLElement, tone: Tone, theme: string): ChartColors {
  const kept = (name: string, tell: () => string): string => {
    const key = `${theme} ${name}`
    const text = known.get(key) ?? tell()
    known.set(key, text)
    return text
  }
  const of = (name: string) =>
    kept(name, () => {
      probe.style.color = `var(--${name})`
      return getComputedStyle(probe).color
    })
  return {
    line: of(tone),
    fill: of(`${tone}-soft`),
    ghost: of('ink-faint'),
    grid: of('line'),
    ink: of('ink-soft'),
    limit: of('red'),
    font: `11px ${kept('font', () => getComputedStyle(probe).fontFamily)}`,
  }
}
