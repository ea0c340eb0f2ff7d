/** API calls for the design of the preference page, and conversion of its settings to a form. */
import type { UnsubscribePage, UpdateUnsubscribePage } from '../../../appliance/api/unsubscribe-page.ts'
import {
  PAGE_LANGUAGES,
  type PageLanguage,
  type UnsubscribePage as Page,
} from '../../../appliance/mail/unsubscribe-page.ts'
import { change, read } from './client.ts'

export const getUnsubscribePage = (signal?: AbortSignal) => read<UnsubscribePage>('/unsubscribe-page', signal)

/** Values of the form. An empty text stands for the default. */
export interface PageForm {
  words: Record<PageLanguage, { title: string; text: string }>
  defaultLanguage: PageLanguage
  background: string
  text: string
  accent: string
  /** The logo as a `data:` URL; null to show the team's name instead. */
  logo: string | null
  postalAddress: string
}

export function toPageForm(page: UnsubscribePage): PageForm {
  const words = PAGE_LANGUAGES.map((language) => {
    const own = page.words[language]
    return [language, { title: own?.title ?? '', text: own?.text ?? '' }] as const
  })
  return {
    words: Object.fromEntries(words) as PageForm['words'],
    defaultLanguage: page.default_language,
    background: page.background_color,
    text: page.text_color,
    accent: page.accent_color,
    logo: page.logo,
    postalAddress: page.postal_address ?? '',
  }
}

const orNull = (text: string): string | null => (text.trim() === '' ? null : text)

/** Returns the team's own texts by language; null for a language without any. */
const wordsOf = ({ words }: PageForm) =>
  Object.fromEntries(
    PAGE_LANGUAGES.map((language) => {
      const own = { title: orNull(words[language].title), text: orNull(words[language].text) }
      return [language, own.title === null && own.text === null ? null : own] as const
    }),
  )

/** Returns the preference page that a form describes, for the preview. */
export function toPage(form: PageForm): Page {
  const words = Object.entries(wordsOf(form)).flatMap(([name, own]) => (own === null ? [] : [[name, own]]))
  return {
    ...form,
    words: Object.fromEntries(words) as Page['words'],
    postalAddress: orNull(form.postalAddress),
    updatedAt: null,
  }
}

export function updateUnsubscribePage(form: PageForm): Promise<UnsubscribePage> {
  const body: UpdateUnsubscribePage = {
    words: wordsOf(form),
    default_language: form.defaultLanguage,
    background_color: form.background,
    text_color: form.text,
    accent_color: form.accent,
    logo: form.logo,
    postal_address: orNull(form.postalAddress),
  }
  return change<UnsubscribePage>('PATCH', '/unsubscribe-page', body)
}
