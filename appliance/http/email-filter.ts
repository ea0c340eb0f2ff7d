/** Reads the conditions of a search for emails out of a query string. */
import { CATEGORIES } from '../mail/bounce.ts'
import { COUNTED } from '../mail/counted.ts'
import { LAST_EVENTS, type LastEvent } from '../mail/event.ts'
import { isId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type { EmailFilter, Happened } from '../storage/storage.ts'
import { instantOf, oneOf, refuseStrange, textOf, type Given } from './conditions.ts'

/** Words of a subject that are sought at once. */
const MOST_WORDS = 10

/** The conditions, as they are called in the query. */
const EMAIL_CONDITIONS = [
  ...['status', 'domain', 'from', 'to', 'to_domain', 'tag', 'key', 'subject'],
  ...['id', 'message_id', 'reply', 'since', 'until'],
  ...['event', 'event_since', 'event_until', 'provider', 'bounce'],
] as const

/**
 * Refuses: `invalid_parameter`, also for a condition that there is not: a search that leaves one out would find too much.
 * @param other names of the query that are no conditions
 */
export function readEmailFilter(query: unknown, other: readonly string[]): EmailFilter {
  const given = query as Given
  refuseStrange(given, EMAIL_CONDITIONS, other)
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
    since: instantOf(given, 'since'),
    until: instantOf(given, 'until'),
  }
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
    const found = LAST_EVENTS.find((one) => one === word.trim().toLowerCase())
    if (!found)
      throw refuse('invalid_parameter', {
        parameter: 'status',
        expected: `a comma-separated list of ${LAST_EVENTS.join(', ')}`,
      })
    return found
  })
}

/** `name`, or `name:value`: neither may have a colon, and the value may be empty. */
function readTag(given: Given): EmailFilter['tag'] {
  const text = textOf(given, 'tag')
  if (text === undefined) return undefined
  const [, name, value = null] = /^([\w-]+)(?::([\w-]*))?$/.exec(text) ?? []
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
    since: instantOf(given, 'event_since'),
    until: instantOf(given, 'event_until'),
    provider: textOf(given, 'provider'),
    bounce: oneOf(given, 'bounce', [...CATEGORIES, 'undetermined'] as const),
  }
  return Object.values(happened).every((value) => value === undefined) ? undefined : happened
}
