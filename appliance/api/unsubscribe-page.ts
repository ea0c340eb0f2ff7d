import { Type, type Static } from 'typebox'
import { PAGE_LANGUAGES, type UnsubscribePage as Page } from '../mail/unsubscribe-page.ts'
import { operationsIn } from './operation.ts'
import { kind, literals, Nullable, object, record, string } from './schemas.ts'
import { Timestamp } from './shared.ts'
import { timestamp } from './timestamp.ts'

const color = (what: string, example: string) => string(`${what}, as \`#rrggbb\`.`, { examples: [example] })
const colors = {
  background_color: color('Background', '#ffffff'),
  text_color: color('Text. Its contrast to the background must be at least 4.5:1', '#1b1c1f'),
  accent_color: color('Main button. Its contrast to the background must be at least 3:1', '#4353d6'),
}
const OWN = 'null: the default text.'
const OwnWords = object('Your own texts in one language.', {
  title: Nullable(Type.String(), `Heading, at most 100 characters; ${OWN}`),
  text: Nullable(Type.String(), `Text below it, at most 1,000 characters; ${OWN}`),
})
const defaultLanguage = literals(
  PAGE_LANGUAGES,
  "Language for browsers that request none of the page's languages.",
)
const LOGO = 'PNG, JPEG, GIF or WebP image of at most 64 KB, as a `data:` URL in base64'
const POSTAL = 'Postal address at the bottom of the page, at most 300 characters'

/** GET and PATCH /unsubscribe-page. Not part of the hosted API. */
export const UnsubscribePage = object('How the preference page looks.', {
  object: kind('unsubscribe_page'),
  words: record(OwnWords, `Your own texts by language: ${PAGE_LANGUAGES.join(', ')}.`),
  default_language: defaultLanguage,
  ...colors,
  logo: Nullable(Type.String(), `${LOGO}; null: the team's name is shown.`),
  postal_address: Nullable(Type.String(), `${POSTAL}; null: none.`),
  updated_at: Nullable(Timestamp, 'Last change; null: never changed.'),
})
export type UnsubscribePage = Static<typeof UnsubscribePage>

export const UpdateUnsubscribePage = Type.Partial(
  Type.Object({
    words: record(
      Nullable(OwnWords),
      'Own texts by language; null removes those of a language. Other languages stay the same.',
    ),
    default_language: defaultLanguage,
    ...colors,
    logo: Nullable(Type.String(), `${LOGO}; null removes it.`),
    postal_address: Nullable(Type.String(), `${POSTAL}; null removes it.`),
  }),
  { description: 'What to change. Other fields stay the same.' },
)
export type UpdateUnsubscribePage = Static<typeof UpdateUnsubscribePage>

const operation = operationsIn('Topics')

export const getUnsubscribePage = operation('GET /unsubscribe-page', {
  summary: 'Get the look of the preference page',
  description: 'The page that unsubscribe links open. Not part of the hosted API.',
  response: { 200: UnsubscribePage },
})
export const updateUnsubscribePage = operation('PATCH /unsubscribe-page', {
  summary: 'Change the look of the preference page',
  description:
    'Takes effect at once, also for links in mail that was sent before. Not part of the hosted API.',
  body: UpdateUnsubscribePage,
  response: { 200: UnsubscribePage },
})

export const presentUnsubscribePage = (page: Page): UnsubscribePage => ({
  object: 'unsubscribe_page',
  words: page.words,
  default_language: page.defaultLanguage,
  background_color: page.background,
  text_color: page.text,
  accent_color: page.accent,
  logo: page.logo,
  postal_address: page.postalAddress,
  updated_at: page.updatedAt === null ? null : timestamp(page.updatedAt),
})
