/** The design of a team's preference page, and checks of its contrast. Pure; also used by the dashboard. */

/** Languages in which the page is available. */
export const PAGE_LANGUAGES = ['en', 'de', 'fr', 'es'] as const
export type PageLanguage = (typeof PAGE_LANGUAGES)[number]

/** A team's own heading and text; null for the default ones. */
export interface CustomTexts {
  title: string | null
  text: string | null
}

/** Colors: `#rrggbb`, in lower case. */
export interface UnsubscribePage {
  words: Partial<Record<PageLanguage, CustomTexts>>
  /** The language for visitors who accept none of the languages. */
  defaultLanguage: PageLanguage
  background: string
  text: string
  accent: string
  /** A `data:` URL; null to show the team's name. */
  logo: string | null
  postalAddress: string | null
  /** Unix milliseconds; null when never changed. */
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

/** Minimum contrast of text and of other elements (WCAG 2.2, 1.4.3 and 1.4.11). */
export const MIN_CONTRAST = { text: 4.5, accent: 3 }

/** Splits a color into its channels, 0 to 255. */
const channels = (color: string): [number, number, number] => {
  const at = (from: number): number => Number.parseInt(color.slice(from, from + 2), 16)
  return [at(1), at(3), at(5)]
}

/** Computes the relative luminance of a color, 0 to 1 (WCAG 2.2). */
function luminance(color: string): number {
  const [red, green, blue] = channels(color).map((channel) => {
    const part = channel / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** Computes the contrast of two colors, 1 to 21 (WCAG 2.2). */
export function computeContrast(one: string, other: string): number {
  const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a) as [number, number]
  return (high + 0.05) / (low + 0.05)
}

/** Returns which color has too little contrast with the background; null for none. */
export function findLowContrastColor({ background, text, accent }: PageColors): 'text' | 'accent' | null {
  if (computeContrast(text, background) < MIN_CONTRAST.text) return 'text'
  return computeContrast(accent, background) < MIN_CONTRAST.accent ? 'accent' : null
}

/** Picks black or white, whichever is easier to read on a color. One of them has a contrast of at least 4.58. */
export const pickTextColor = (ground: string): string =>
  computeContrast('#ffffff', ground) >= computeContrast('#000000', ground) ? '#ffffff' : '#000000'

/** Mixes a color with another. @param share 0 to 1 */
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
 * Derives the dark theme. Keeps a dark background; otherwise makes the background dark, the text light, and the accent
 * light enough to stand out.
 */
export function deriveDarkColors({ background, text, accent }: PageColors): PageColors {
  if (luminance(background) < 0.1) return { background, text, accent }
  const dark = '#17181b'
  for (let share = 0; share < 1; share += 0.05) {
    const lighter = mix(accent, '#ffffff', share)
    if (computeContrast(lighter, dark) >= MIN_CONTRAST.accent)
      return { background: dark, text: '#e8e9ec', accent: lighter }
  }
  return { background: dark, text: '#e8e9ec', accent: '#ffffff' }
}

/**
 * Picks the language for an Accept-Language field (RFC 9110 §12.5.4): the one of `among` with the highest weight, else
 * `fallback`.
 */
export function chooseLanguage(
  field: string | undefined,
  fallback: PageLanguage,
  among: readonly PageLanguage[] = PAGE_LANGUAGES,
): PageLanguage {
  const wanted = (field ?? '')
    .slice(0, 200)
    .split(',')
    .map((part) => {
      const [range = '', ...parameters] = part.split(';').map((one) => one.trim().toLowerCase())
      const quality = parameters.find((one) => one.startsWith('q='))
      return { language: range.split('-', 1)[0]!, quality: quality ? Number(quality.slice(2)) : 1 }
    })
  const known = (language: string): language is PageLanguage =>
    (among as readonly string[]).includes(language)
  const [best] = wanted
    .filter(({ language, quality }) => known(language) && quality > 0)
    .sort((a, b) => b.quality - a.quality)
  return best && known(best.language) ? best.language : fallback
}

/** Masks an address for a page that may be forwarded: `a•••@example.com`. */
export function maskAddress(address: string): string {
  const at = address.lastIndexOf('@')
  const [first = ''] = address.slice(0, at)
  return `${first}•••${address.slice(at)}`
}
