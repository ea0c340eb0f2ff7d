/** The colours of the charts. A canvas knows no custom properties: the browser tells what they come to. */
import type { Colours } from './chart.ts'
import type { Tone } from './status.ts'

/** What styles came to, by theme: to ask has the browser compute all that changed, and there are many charts. */
const known = new Map<string, string>()

/**
 * @param probe an element within the page that nobody sees
 * @param theme tells the themes apart
 */
export function coloursOf(probe: HTMLElement, tone: Tone, theme: string): Colours {
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
    ...{ line: of(tone), fill: of(`${tone}-soft`) },
    ...{ ghost: of('ink-faint'), grid: of('line'), ink: of('ink-soft'), limit: of('red') },
    font: `11px ${kept('font', () => getComputedStyle(probe).fontFamily)}`,
  }
}
