/** Reads and validates a form in a request. Pure. */
import { parseText } from '../audience/audience.ts'
import { parseMailbox, formatMailbox } from '../mail/address.ts'
import {
  type FormField,
  type FormSettings,
  type FormStatus,
  type FormTexts,
  NAME_FIELDS,
} from '../mail/form.ts'
import { isId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import { PAGE_LANGUAGES, type PageLanguage } from '../mail/unsubscribe-page.ts'

/** A form in a request. Undefined fields stay unchanged, or get the default. */
export interface FormInput {
  name?: string | undefined
  status?: FormStatus | undefined
  segmentIds?: readonly string[] | undefined
  topicIds?: readonly string[] | undefined
  fields?: readonly FormField[] | undefined
  from?: string | undefined
  languages?: readonly string[] | undefined
  /** Texts by language; null removes the texts of a language. */
  words?: Record<string, Partial<FormTexts> | null> | undefined
  submittedUrl?: string | null | undefined
  confirmedUrl?: string | null | undefined
  origins?: readonly string[] | undefined
}

/** Maximum lengths in characters, and maximum number of elements. */
const MAX = { name: 100, line: 100, button: 50, subject: 200, text: 1000, label: 100, url: 2000, items: 20 }

/** Control characters except line feeds, and lone surrogates. */
const unprintable = /[^\P{Cc}\n]|\p{Cs}/u

/**
 * Reads the fields that a request sets. Refuses: `missing_field`, `invalid_field`, `invalid_id`, `invalid_address`.
 * @param keys keys of the team's contact properties
 * @param before the current texts, which are kept
 */
export function parseForm(
  input: FormInput,
  keys: ReadonlySet<string>,
  before: FormSettings['words'] = {},
): Partial<FormSettings> {
  const { name, status, segmentIds, topicIds, fields, from, languages, words } = input
  const { submittedUrl, confirmedUrl, origins } = input
  return {
    ...(name !== undefined && { name: parseText('name', name, MAX.name) }),
    ...(status !== undefined && { status }),
    ...(segmentIds !== undefined && { segmentIds: readIds('segment_ids', segmentIds) }),
    ...(topicIds !== undefined && { topicIds: readIds('topic_ids', topicIds) }),
    ...(fields !== undefined && { fields: readFields(fields, keys) }),
    ...(from !== undefined && { from: readFrom(from) }),
    ...(languages !== undefined && { languages: readLanguages(languages) }),
    ...(words !== undefined && { words: { ...readWords(words, keys, before) } }),
    ...(submittedUrl !== undefined && { submittedUrl: readUrl('submitted_url', submittedUrl) }),
    ...(confirmedUrl !== undefined && { confirmedUrl: readUrl('confirmed_url', confirmedUrl) }),
    ...(origins !== undefined && { origins: readOrigins(origins) }),
  }
}

function atMost<T>(field: string, items: readonly T[], most = MAX.items): readonly T[] {
  if (items.length > most) throw refuse('invalid_field', { field, expected: `at most ${most} elements` })
  return items
}

function readIds(field: string, given: readonly string[]): string[] {
  const ids = atMost(field, given).map((id, at) => {
    if (!isId(id)) throw refuse('invalid_id', { parameter: `${field}[${at}]` })
    return id.toLowerCase()
  })
  return [...new Set(ids)]
}

function readFields(given: readonly FormField[], keys: ReadonlySet<string>): FormField[] {
  const seen = new Set<string>()
  return atMost('fields', given).map(({ name, required }, at) => {
    const field = `fields[${at}].name`
    checkName(field, name, keys)
    if (seen.has(name)) throw refuse('invalid_field', { field, expected: 'each name once' })
    seen.add(name)
    return { name, required }
  })
}

function checkName(field: string, name: string, keys: ReadonlySet<string>): void {
  if ((NAME_FIELDS as readonly string[]).includes(name) || keys.has(name)) return
  const expected = '`first_name`, `last_name`, or the key of a contact property'
  throw refuse('invalid_field', { field, expected })
}

function readFrom(given: string): string {
  if (given.trim() === '') throw refuse('missing_field', { field: 'from' })
  const mailbox = parseMailbox(given)
  if (!mailbox) throw refuse('invalid_address', { field: 'from' })
  return formatMailbox(mailbox)
}

function readLanguages(given: readonly string[]): PageLanguage[] {
  const known = given.filter((one): one is PageLanguage =>
    (PAGE_LANGUAGES as readonly string[]).includes(one),
  )
  if (given.length === 0 || known.length < given.length || new Set(given).size < given.length)
    throw refuse('invalid_field', {
      field: 'languages',
      expected: `one or more of ${PAGE_LANGUAGES.join(', ')}, each once`,
    })
  return known
}

function readWords(
  given: Record<string, Partial<FormTexts> | null>,
  keys: ReadonlySet<string>,
  before: FormSettings['words'],
): FormSettings['words'] {
  const merged = { ...before }
  for (const [language, own] of Object.entries(given)) {
    if (!(PAGE_LANGUAGES as readonly string[]).includes(language))
      throw refuse('invalid_field', { field: 'words', expected: `languages: ${PAGE_LANGUAGES.join(', ')}` })
    if (own === null) delete merged[language as PageLanguage]
    else merged[language as PageLanguage] = readOwn(language, own, keys)
  }
  return merged
}

function readOwn(language: string, own: Partial<FormTexts>, keys: ReadonlySet<string>): FormTexts {
  const line = (name: 'title' | 'button' | 'subject', most: number): string | null => {
    const text = own[name]?.trim() ?? ''
    return text === '' ? null : parseText(`words.${language}.${name}`, text, most)
  }
  const lines = (name: 'text' | 'consent' | 'message') =>
    readLines(`words.${language}.${name}`, own[name] ?? null)
  return {
    title: line('title', MAX.line),
    text: lines('text'),
    consent: lines('consent'),
    button: line('button', MAX.button),
    subject: line('subject', MAX.subject),
    message: lines('message'),
    labels: readLabels(`words.${language}.labels`, own.labels ?? {}, keys),
  }
}

/** Reads a text of several lines; empty text becomes null. */
function readLines(field: string, given: string | null): string | null {
  const text = given?.replaceAll(/\r\n?/g, '\n').trim() ?? ''
  if (text === '') return null
  if (text.length <= MAX.text && !unprintable.test(text)) return text
  const expected = `at most ${MAX.text} characters, without control characters`
  throw refuse('invalid_field', { field, expected })
}

function readLabels(
  field: string,
  given: Record<string, string>,
  keys: ReadonlySet<string>,
): Record<string, string> {
  const read = Object.entries(given).flatMap(([name, label]) => {
    checkName(field, name, keys)
    return label.trim() === '' ? [] : [[name, parseText(`${field}.${name}`, label, MAX.label)] as const]
  })
  return Object.fromEntries(read)
}

const isWeb = ({ protocol }: URL): boolean => protocol === 'https:' || protocol === 'http:'

function readUrl(field: string, given: string | null): string | null {
  const text = given?.trim() ?? ''
  if (text === '') return null
  const url = text.length <= MAX.url && URL.canParse(text) ? new URL(text) : undefined
  if (url && isWeb(url) && url.username === '' && url.password === '') return url.href
  const expected = `a URL such as \`https://example.com/thanks\`, at most ${MAX.url} characters`
  throw refuse('invalid_field', { field, expected })
}

function readOrigins(given: readonly string[]): string[] {
  const read = atMost('allowed_origins', given).map((text, at) => {
    const url = text.length <= MAX.url && URL.canParse(text) ? new URL(text) : undefined
    if (url && isWeb(url) && url.href === `${url.origin}/`) return url.origin
    const expected = 'an origin such as `https://example.com`, without a path'
    throw refuse('invalid_field', { field: `allowed_origins[${at}]`, expected })
  })
  return [...new Set(read)]
}
