/** Parses the email search box into parameters of GET /emails/search. Pure. */
import type { EmailConditions } from '../../../appliance/api/email-search.ts'
import { extractId } from './find.ts'

export interface ParsedSearch {
  conditions: EmailConditions
  /** The syntax error; null if there is none. Don't search if there is an error. */
  problem: string | null
}

/** A term of a search: `status:bounced`, or text without a key. */
export interface Token {
  key: string | null
  value: string
}

/** Search keys, with a description of each. */
export const SEARCH_KEYS = {
  to: 'a recipient, or part of the address',
  from: 'the sender',
  status: 'the last event; separate several with commas',
  domain: 'the sender’s domain',
  at: 'a recipient’s domain',
  tag: 'a tag: name or name:value',
  key: 'the name or ID of an API key',
  broadcast: 'the broadcast’s ID',
  id: 'the email’s ID',
  reply: 'text in the mail server’s reply, such as a queue ID',
  event: 'any event, not only the latest: bounced, opened',
  happened: 'when the event happened: 2026-11-01..2026-11-08, excluding the end',
  provider: 'the recipient’s mailbox provider',
  bounce: 'the bounce category: recipient, mailbox-full',
  after: 'accepted since a date or time, or within a period such as 24h or 7d',
  before: 'accepted before a date or time, or an age such as 24h or 7d',
} as const
type Key = keyof typeof SEARCH_KEYS
/** Name of an API parameter. */
type Name = keyof EmailConditions
const isKey = (text: string): text is Key => Object.hasOwn(SEARCH_KEYS, text)

/** Splits a search into terms. Quotation marks enclose terms with spaces. */
export function tokenize(text: string): Token[] {
  const found: Token[] = []
  for (const [, key, quoted, plain, words, word] of text.matchAll(
    /([a-z_]+):(?:"([^"]*)"?|(\S*))|"([^"]*)"?|(\S+)/gi,
  )) {
    const value = quoted ?? plain ?? words ?? word ?? ''
    if (key !== undefined || value !== '') found.push({ key: key?.toLowerCase() ?? null, value })
  }
  return found
}

/** Formats a term, in quotation marks if it has spaces. */
export const formatToken = ({ key, value }: Token): string =>
  `${key === null ? '' : `${key}:`}${/\s/.test(value) || value === '' ? `"${value}"` : value}`

/** Replaces the value of `key` in a search; null removes it. */
export function setToken(text: string, key: Key, value: string | null): string {
  const old = tokenize(text)
  const at = old.findIndex((token) => token.key === key)
  const kept = old.filter((token) => token.key !== key)
  if (value !== null) kept.splice(at === -1 ? kept.length : at, 0, { key, value })
  return kept.map(formatToken).join(' ')
}

/** Returns the value of a key in a search; null if the search doesn't have it. */
export const getToken = (text: string, key: Key): string | null =>
  tokenize(text).find((token) => token.key === key)?.value ?? null

/** Statuses that the dashboard and the API name differently. */
const STATUS_WORDS: Record<string, string> = { delayed: 'delivery_delayed', cancelled: 'canceled' }

const UNITS: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/**
 * Parses an instant to Unix milliseconds: an age such as `24h`, a day in the viewer's time zone, or ISO 8601. Undefined
 * if invalid.
 */
export function parseSearchInstant(text: string, now: number, utc: boolean): number | undefined {
  const [, count, unit] = /^(\d{1,5})([mhdw])$/.exec(text) ?? []
  if (count !== undefined && unit !== undefined) return now - Number(count) * (UNITS[unit] ?? 0)
  const day = /^\d{4}-\d{2}-\d{2}$/.test(text)
  const at = Date.parse(day ? `${text}T00:00:00${utc ? 'Z' : ''}` : text)
  return /^\d{4}-\d{2}-\d{2}/.test(text) && !Number.isNaN(at) ? at : undefined
}

/** Guesses which condition a term without a key stands for. */
function bare(value: string): [name: Name, value: string] {
  if (/^<[^<>\s]+@[^<>\s]+>$/.test(value)) return ['message_id', value]
  if (value.length === 36 && extractId(value) !== null) return ['id', value.toLowerCase()]
  if (value.startsWith('@')) return ['to_domain', value.slice(1)]
  if (value.includes('@')) return ['to', value]
  return ['subject', value]
}

/** Parses a time range, `START..END`, in the syntax of `parseSearchInstant`. One end may be missing. */
function stretch(value: string, now: number, utc: boolean): EmailConditions | string {
  const [from = '', to = '', ...more] = value.split('..')
  const instants = [from, to].map((text) => (text === '' ? null : parseSearchInstant(text, now, utc)))
  if (more.length > 0 || !value.includes('..') || value === '..' || instants.includes(undefined))
    return `“happened:${value}” is not a time range. Use 2026-11-01..2026-11-08, or 24h.. for the last 24 hours.`
  const [since, until] = instants
  return {
    ...(typeof since === 'number' && { event_since: new Date(since).toISOString() }),
    ...(typeof until === 'number' && { event_until: new Date(until).toISOString() }),
  }
}

/** Parses one term. Returns a string if there is an error. */
function condition({ key, value }: Token, now: number, utc: boolean): [name: Name, value: string] | string {
  if (key === null) return bare(value)
  if (!isKey(key))
    return `Unknown search key “${key}:”. Use ${Object.keys(SEARCH_KEYS).join(', ')}. To search subjects for it, put it in quotation marks.`
  // If the key has a value, `parseSearch` handles it.
  if (value === '' || key === 'happened') return `“${key}:” needs a value: ${SEARCH_KEYS[key]}.`
  if (key === 'after' || key === 'before') {
    const at = parseSearchInstant(value, now, utc)
    if (at === undefined)
      return `“${key}:${value}” is not a time. Use a date such as 2026-11-20, or an age such as 24h or 7d.`
    return [key === 'after' ? 'since' : 'until', new Date(at).toISOString()]
  }
  if (key === 'event') return ['event', STATUS_WORDS[value] ?? value]
  if (key === 'status')
    return [
      'status',
      value
        .split(',')
        .map((word) => STATUS_WORDS[word] ?? word)
        .join(','),
    ]
  if (key === 'id')
    return extractId(value) === null
      ? `“id:${value}” is not an email ID. Use a complete ID.`
      : ['id', extractId(value) ?? '']
  if (key === 'broadcast')
    return extractId(value) === null
      ? `“broadcast:${value}” is not a broadcast ID. Use a complete ID.`
      : ['broadcast', extractId(value) ?? '']
  if (key === 'to' && value.startsWith('@')) return ['to_domain', value.slice(1)]
  return [key === 'at' ? 'to_domain' : key, value]
}

const second = (token: Token, conditions: EmailConditions): ParsedSearch => ({
  conditions,
  problem: `“${formatToken(token)}” repeats a search condition. Use each condition only once.`,
})

/**
 * Parses a search. Terms without a key search the subject, unless they are an address, an ID or a Message-ID.
 * @param now base of relative times (Unix milliseconds)
 * @param utc whether days start at midnight in UTC instead of the viewer's time zone
 */
export function parseSearch(text: string, now: number, utc: boolean): ParsedSearch {
  const conditions: EmailConditions = {}
  for (const token of tokenize(text)) {
    if (token.key === 'happened' && token.value !== '') {
      const when = stretch(token.value, now, utc)
      if (typeof when === 'string') return { conditions, problem: when }
      if ('event_since' in conditions || 'event_until' in conditions) return second(token, conditions)
      Object.assign(conditions, when)
      continue
    }
    const read = condition(token, now, utc)
    if (typeof read === 'string') return { conditions, problem: read }
    const [name, value] = read
    if (name !== 'subject' && conditions[name] !== undefined) return second(token, conditions)
    conditions[name] = name === 'subject' && conditions.subject ? `${conditions.subject} ${value}` : value
  }
  return { conditions, problem: null }
}

/**
 * Matches queue ids of mail servers (Postfix, Exim, Sendmail, Gmail): at least 8 characters, with letters and digits.
 */
const QUEUE_ID = /^(?=.*\d)(?=.*[a-z])[a-z0-9_.-]{8,100}$/i

/**
 * Returns the condition that finds an email by a pasted ID (also in a dashboard URL), Message-ID, address or remote
 * queue ID. Null for other text.
 */
export function detectCondition(text: string): EmailConditions | null {
  const one = text.trim()
  const [, message] = /(<[^<>\s]+@[^<>\s]+>)/.exec(one) ?? []
  if (message !== undefined) return { message_id: message }
  // Posthaste's own Message-IDs contain the email's ID before the @.
  const id = extractId(one)
  if (id !== null) return { id }
  if (/^[^\s@:]+@[^\s@]*$/.test(one)) return { to: one }
  return QUEUE_ID.test(one) ? { reply: one } : null
}
