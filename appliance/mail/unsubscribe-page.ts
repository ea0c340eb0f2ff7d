/** How a team's preference page looks, and when its colors can be read. Pure; the dashboard uses it, too. */

/** Languages that the page has texts in. */
export const PAGE_LANGUAGES = ['en', 'de', 'fr', 'es'] as const
export type PageLanguage = (typeof PAGE_LANGUAGES)[number]

/** What a team says in the place of the usual heading and text; null: as usual. */
export interface OwnWords {
  title: string | null
  text: string | null
}

/** Colors: `#rrggbb`, in lower case. */
export interface UnsubscribePage {
  words: Partial<Record<PageLanguage, OwnWords>>
  /** Shown to those who ask for none of the languages. */
  defaultLanguage: PageLanguage
  background: string
  text: string
  accent: string
  /** A `data:` URL; null: the team's name is shown. */
  logo: string | null
  postalAddress: string | null
  /** Unix milliseconds; null: never changed. */
  updatedAt: number | null
}

export const DEFAULT_PAGE: UnsubscribePage = {
  words: {},
  defaultLanguage: 'en',
  background: '#ffffff',
  text: '#1b1c1f',
  accent: '#4353d6',
  logo: null,
  postalAddress: null,
  updatedAt: null,
}

/** The least contrast of text, and of what is no text (WCAG 2.2, 1.4.3 and 1.4.11). */
export const LEAST_CONTRAST = { text: 4.5, accent: 3 }

/** Channels of a color, 0 to 255. */
const channels = (color: string): [number, number, number] => {
  const at = (from: number): number => Number.parseInt(color.slice(from, from + 2), 16)
  return [at(1), at(3), at(5)]
}

/** The relative luminance of a color, 0 to 1 (WCAG 2.2). */
function luminance(color: string): number {
  const [red, green, blue] = channels(color).map((channel) => {
    const part = channel / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** The contrast of two colors, 1 to 21 (WCAG 2.2). */
export function contrastOf(one: string, other: string): number {
  const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a) as [number, number]
  return (high + 0.05) / (low + 0.05)
}

/** Which color cannot be seen well enough on the background; null: all can. */
export function tooFaint({ background, text, accent }: PageColors): 'text' | 'accent' | null {
  if (contrastOf(text, background) < LEAST_CONTRAST.text) return 'text'
  return contrastOf(accent, background) < LEAST_CONTRAST.accent ? 'accent' : null
}

/** Black or white, whichever is easier to read on a color: one of them has a contrast of at least 4.58. */
export const inkOn = (ground: string): string =>
  contrastOf('#ffffff', ground) >= contrastOf('#000000', ground) ? '#ffffff' : '#000000'

/** A color moved towards another. @param share 0 to 1 */
function mix(color: string, towards: string, share: number): string {
  const [from, to] = [channels(color), channels(towards)]
  const mixed = from.map((channel, at) => Math.round(channel + (to[at]! - channel) * share))
  return `#${mixed.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`
}

/** The colors of one theme. */
export interface PageColors {
  background: string
  text: string
  accent: string
}

/**
 * The colors at night. A background that is dark already stays; else it becomes dark, the text light, and the accent as much lighter as
 * it must be to stand out.
 */
export function nightColors({ background, text, accent }: PageColors): PageColors {
  if (luminance(background) < 0.1) return { background, text, accent }
  const dark = '#17181b'
  for (let share = 0; share < 1; share += 0.05) {
    const lighter = mix(accent, '#ffffff', share)
    if (contrastOf(lighter, dark) >= LEAST_CONTRAST.accent)
      return { background: dark, text: '#e8e9ec', accent: lighter }
  }
  return { background: dark, text: '#e8e9ec', accent: '#ffffff' }
}

/** The language for an Accept-Language field (RFC 9110 §12.5.4): the first of ours by weight, else `fallback`. */
export function chooseLanguage(field: string | undefined, fallback: PageLanguage): PageLanguage {
  const wanted = (field ?? '')
    .slice(0, 200)
    .split(',')
    .map((part) => {
      const [range = '', ...parameters] = part.split(';').map((one) => one.trim().toLowerCase())
      const quality = parameters.find((one) => one.startsWith('q='))
      return { language: range.split('-', 1)[0]!, quality: quality ? Number(quality.slice(2)) : 1 }
    })
  const known = (language: string): language is PageLanguage =>
    (PAGE_LANGUAGES as readonly string[]).includes(language)
  const [best] = wanted
    .filter(({ language, quality }) => known(language) && quality > 0)
    .sort((a, b) => b.quality - a.quality)
  return best && known(best.language) ? best.language : fallback
}

/** An address as a page shows it that may be forwarded: `a•••@example.com`. */
export function maskAddress(address: string): string {
  const at = address.lastIndexOf('@')
  const [first = ''] = address.slice(0, at)
  return `${first}•••${address.slice(at)}`
}
