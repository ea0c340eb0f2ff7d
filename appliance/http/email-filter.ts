/** Reads the conditions of a search for emails out of a query string. */
import { CATEGORIES } from '../mail/bounce.ts'
import { COUNTED } from '../mail/counted.ts'
import { LAST_EVENTS, type LastEvent } from '../mail/event.ts'
import { isId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type { EmailFilter, Happened } from '../storage/storage.ts'

/** Longest text of a condition (UTF-16 units): a Message-ID may fill a line (RFC 5322 §2.1.1). */
const LONGEST = 998
/** Words of a subject that are sought at once. */
const MOST_WORDS = 10

/** The conditions, as they are called in the query. */
export const EMAIL_CONDITIONS = [
  ...['status', 'domain', 'from', 'to', 'to_domain', 'tag', 'key', 'subject'],
  ...['id', 'message_id', 'reply', 'since', 'until'],
  ...['event', 'event_since', 'event_until', 'provider', 'bounce'],
] as const

type Given = Record<string, unknown>

/**
 * Refuses: `invalid_parameter`, also for a condition that there is not: a search that leaves one out would find too much.
 * @param other names of the query that are no conditions
 */
export function readEmailFilter(query: unknown, other: readonly string[]): EmailFilter {
  const given = query as Given
  const known: readonly string[] = [...EMAIL_CONDITIONS, ...other]
  const strange = Object.keys(given).find((name) => !known.includes(name))
  if (strange !== undefined)
    throw refuse('invalid_parameter', {
      parameter: strange,
      expected: `one of ${EMAIL_CONDITIONS.join(', ')}`,
    })
  return {
    id: readSoughtId(given),
    status: readStatus(given),
    domain: withoutAt(textOf(given, 'domain')),
    from: textOf(given, 'from'),
    to: textOf(given, 'to'),
    toDomain: withoutAt(textOf(given, 'to_domain')),
    tag: readTag(given),
    apiKey: textOf(given, 'key'),
    subject: readWords(given),
    messageId: readMessageId(given),
    reply: textOf(given, 'reply'),
    happened: readHappened(given),
    since: readInstant(given, 'since'),
    until: readInstant(given, 'until'),
  }
}

function textOf(given: Given, name: string): string | undefined {
  const value = given[name]
  if (value === undefined) return undefined
  const text = typeof value === 'string' ? value.trim() : ''
  if (text === '' || text.length > LONGEST || text.includes('\0'))
    throw refuse('invalid_parameter', {
      parameter: name,
      expected: `one text of 1 to ${LONGEST} characters; leave it out where it is not asked for`,
    })
  return text
}

const withoutAt = (text: string | undefined): string | undefined => text?.replace(/^@/, '')

function readSoughtId(given: Given): string | undefined {
  const text = textOf(given, 'id')
  if (text === undefined) return undefined
  if (!isId(text)) throw refuse('invalid_id', { parameter: 'id' })
  return text.toLowerCase()
}

function readStatus(given: Given): LastEvent[] | undefined {
  const text = textOf(given, 'status')
  return text?.split(',').map((word) => {
    const found = LAST_EVENTS.find((one) => one === word.trim())
    if (!found)
      throw refuse('invalid_parameter', {
        parameter: 'status',
        expected: `some of ${LAST_EVENTS.join(', ')}, with commas between`,
      })
    return found
  })
}

/** `name`, or `name:value`: neither may have a colon. */
function readTag(given: Given): EmailFilter['tag'] {
  const text = textOf(given, 'tag')
  if (text === undefined) return undefined
  const [, name, value = null] = /^([\w-]+)(?::([\w-]+))?$/.exec(text) ?? []
  if (name === undefined)
    throw refuse('invalid_parameter', {
      parameter: 'tag',
      expected: '`name` or `name:value`, of ASCII letters, digits, underscores and dashes',
    })
  return { name, value }
}

function readWords(given: Given): string[] | undefined {
  const words = textOf(given, 'subject')?.split(/\s+/)
  if (words && words.length > MOST_WORDS)
    throw refuse('invalid_parameter', { parameter: 'subject', expected: `at most ${MOST_WORDS} words` })
  return words
}

/** People leave the angle brackets out, which belong to it (RFC 5322 §3.6.4). */
function readMessageId(given: Given): string | undefined {
  const text = textOf(given, 'message_id')
  return text === undefined || text.startsWith('<') ? text : `<${text}>`
}

/** Undefined where nothing of it is asked. */
function readHappened(given: Given): Happened | undefined {
  const happened: Happened = {
    event: oneOf(given, 'event', COUNTED),
    since: readInstant(given, 'event_since'),
    until: readInstant(given, 'event_until'),
    provider: textOf(given, 'provider'),
    bounce: oneOf(given, 'bounce', [...CATEGORIES, 'undetermined'] as const),
  }
  return Object.values(happened).every((value) => value === undefined) ? undefined : happened
}

function oneOf<T extends string>(given: Given, name: string, allowed: readonly T[]): T | undefined {
  const text = textOf(given, name)
  if (text === undefined) return undefined
  const found = allowed.find((one) => one === text)
  if (found === undefined)
    throw refuse('invalid_parameter', { parameter: name, expected: `one of ${allowed.join(', ')}` })
  return found
}

function readInstant(given: Given, name: string): number | undefined {
  const text = textOf(given, name)
  if (text === undefined) return undefined
  const at = /^\d{4}-\d{2}-\d{2}(T.*)?$/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at) || at < 0)
    throw refuse('invalid_parameter', {
      parameter: name,
      expected: 'an instant in ISO 8601, such as `2026-11-20T09:00:00Z`, or a day in UTC',
    })
  return at
}
