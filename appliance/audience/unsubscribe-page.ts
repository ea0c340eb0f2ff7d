/** The appearance of a team's preference page: reads and checks changes. */
import {
  MIN_CONTRAST,
  type CustomTexts,
  PAGE_LANGUAGES,
  type PageLanguage,
  type UnsubscribePage,
} from '../mail/unsubscribe-page.ts'
import { refuse } from '../mail/refusals.ts'
import type { UnsubscribePageChange } from '../storage/storage.ts'
import type { AudienceDeps } from './find.ts'

/** Maximum lengths: texts in characters, the logo in octets, because it is embedded in the page. */
const MAX = { title: 100, text: 1000, address: 300, logo: 64 * 1024 }

export interface PageMethods {
  getUnsubscribePage(args: { teamId: string }): Promise<UnsubscribePage>
  /** Updates the appearance. Refuses: `invalid_field`, also for colors without enough contrast. */
  updateUnsubscribePage(args: { teamId: string; change: UnsubscribePageChange }): Promise<UnsubscribePage>
}

export function createPageMethods({ storage, clock }: AudienceDeps): PageMethods {
  return {
    getUnsubscribePage: (args) => storage.getUnsubscribePage(args, clock.now()),
    async updateUnsubscribePage({ teamId, change }) {
      const result = await storage.updateUnsubscribePage({ teamId, change: readChange(change) }, clock.now())
      if (typeof result === 'object') return result
      const expected = `a color with a contrast of at least ${MIN_CONTRAST[result]}:1 to the background`
      throw refuse('invalid_field', { field: `${result}_color`, expected })
    },
  }
}

function readChange({ words, logo, postalAddress, ...change }: UnsubscribePageChange): UnsubscribePageChange {
  const { background, text, accent } = change
  return {
    ...change,
    ...(background !== undefined && { background: readColor('background_color', background) }),
    ...(text !== undefined && { text: readColor('text_color', text) }),
    ...(accent !== undefined && { accent: readColor('accent_color', accent) }),
    ...(words !== undefined && { words: readWords(words) }),
    ...(logo !== undefined && { logo: logo === null ? null : readLogo(logo) }),
    ...(postalAddress !== undefined && {
      postalAddress: readLines('postal_address', postalAddress, MAX.address),
    }),
  }
}

function readColor(field: string, color: string): string {
  if (!/^#[0-9a-f]{6}$/i.test(color))
    throw refuse('invalid_field', { field, expected: 'a color such as `#1b1c1f`' })
  return color.toLowerCase()
}

/** Control characters except line feeds, and lone surrogates. */
const unprintable = /[^\P{Cc}\n]|\p{Cs}/u

/** Reads a text of several lines; empty text becomes null. */
function readLines(field: string, given: string | null, most: number): string | null {
  const text = given?.replaceAll(/\r\n?/g, '\n').trim() ?? ''
  if (text === '') return null
  if (text.length > most || unprintable.test(text))
    throw refuse('invalid_field', {
      field,
      expected: `at most ${most} characters, without control characters`,
    })
  return text
}

function readWords(words: NonNullable<UnsubscribePageChange['words']>): UnsubscribePageChange['words'] {
  const read = Object.entries(words).map(([language, own]) => {
    if (!(PAGE_LANGUAGES as readonly string[]).includes(language))
      throw refuse('invalid_field', { field: 'words', expected: `languages: ${PAGE_LANGUAGES.join(', ')}` })
    return [language, own && readOwn(language as PageLanguage, own)] as const
  })
  return Object.fromEntries(read)
}

/** Reads a team's own texts in a language; null if they are all empty. */
function readOwn(language: PageLanguage, own: CustomTexts): CustomTexts | null {
  const title = readLines(`words.${language}.title`, own.title, MAX.title)
  const text = readLines(`words.${language}.text`, own.text, MAX.text)
  return title === null && text === null ? null : { title, text }
}

/** First bytes of each image type. SVG is not allowed, because it can contain scripts. */
const IMAGES: Record<string, RegExp> = {
  png: /^\x89PNG\r\n\x1a\n/,
  jpeg: /^\xff\xd8\xff/,
  gif: /^GIF8[79]a/,
  webp: /^RIFF.{4}WEBP/s,
}

function readLogo(url: string): string {
  const expected = `a PNG, JPEG, GIF or WebP image of at most ${MAX.logo / 1024} KB as a \`data:\` URL in base64`
  const [, type = '', data = ''] =
    /^data:image\/(png|jpeg|gif|webp);base64,([A-Za-z0-9+/]+={0,2})$/.exec(url) ?? []
  const bytes = Buffer.from(data, 'base64')
  const starts = IMAGES[type]?.test(bytes.subarray(0, 16).toString('latin1')) === true
  if (!starts || bytes.length > MAX.logo) throw refuse('invalid_field', { field: 'logo', expected })
  return url
}
