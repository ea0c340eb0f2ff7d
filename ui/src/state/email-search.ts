/** What the search box of the emails understands. Pure: text in, conditions of GET /emails/search out. */
import type { EmailConditions } from '../../../appliance/api/email-search.ts'
import { idIn } from './find.ts'

export interface SearchRead {
  conditions: EmailConditions
  /** What was not understood, as a sentence; null when all was. Then nothing should be searched for. */
  problem: string | null
}

/** One word of a search: `status:bounced`, or a bare one without a key. */
export interface Token {
  key: string | null
  value: string
}

/** What can be written before a colon, and what it asks for. */
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
/** A condition of the API. */
type Name = keyof EmailConditions
const isKey = (text: string): text is Key => Object.hasOwn(SEARCH_KEYS, text)

/** Splits a search into its words; quotation marks keep spaces. */
export function tokens(text: string): Token[] {
  const found: Token[] = []
  for (const [, key, quoted, plain, words, word] of text.matchAll(
    /([a-z_]+):(?:"([^"]*)"?|(\S*))|"([^"]*)"?|(\S+)/gi,
  )) {
    const value = quoted ?? plain ?? words ?? word ?? ''
    if (key !== undefined || value !== '') found.push({ key: key?.toLowerCase() ?? null, value })
  }
  return found
}

/** A word as it is written: in quotation marks where it has spaces. */
export const written = ({ key, value }: Token): string =>
  `${key === null ? '' : `${key}:`}${/\s/.test(value) || value === '' ? `"${value}"` : value}`

/** The search with `key` set to another value, at its place; null takes it out. */
export function withToken(text: string, key: Key, value: string | null): string {
  const old = tokens(text)
  const at = old.findIndex((token) => token.key === key)
  const kept = old.filter((token) => token.key !== key)
  if (value !== null) kept.splice(at === -1 ? kept.length : at, 0, { key, value })
  return kept.map(written).join(' ')
}

/** The value of a key in a search; null without it. */
export const tokenOf = (text: string, key: Key): string | null =>
  tokens(text).find((token) => token.key === key)?.value ?? null

/** The dashboard's words for statuses whose name at the API is another. */
const STATUS_WORDS: Record<string, string> = { delayed: 'delivery_delayed', cancelled: 'canceled' }

const UNITS: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/**
 * The instant that somebody means, in Unix milliseconds: `24h` ago, a day in the viewer's zone, or an instant in ISO 8601.
 * Undefined when it is none of them.
 */
export function instantIn(text: string, now: number, utc: boolean): number | undefined {
  const [, count, unit] = /^(\d{1,5})([mhdw])$/.exec(text) ?? []
  if (count !== undefined && unit !== undefined) return now - Number(count) * (UNITS[unit] ?? 0)
  const day = /^\d{4}-\d{2}-\d{2}$/.test(text)
  const at = Date.parse(day ? `${text}T00:00:00${utc ? 'Z' : ''}` : text)
  return /^\d{4}-\d{2}-\d{2}/.test(text) && !Number.isNaN(at) ? at : undefined
}

/** A bare word: what it looks like it is. */
function bare(value: string): [name: Name, value: string] {
  if (/^<[^<>\s]+@[^<>\s]+>$/.test(value)) return ['message_id', value]
  if (value.length === 36 && idIn(value) !== null) return ['id', value.toLowerCase()]
  if (value.startsWith('@')) return ['to_domain', value.slice(1)]
  if (value.includes('@')) return ['to', value]
  return ['subject', value]
}

/** A stretch of time: `START..END`, each as `instantIn` takes it; one of them may be left out. */
function stretch(value: string, now: number, utc: boolean): EmailConditions | string {
  const [from = '', to = '', ...more] = value.split('..')
  const instants = [from, to].map((text) => (text === '' ? null : instantIn(text, now, utc)))
  if (more.length > 0 || !value.includes('..') || value === '..' || instants.includes(undefined))
    return `“happened:${value}” is not a time range. Use 2026-11-01..2026-11-08, or 24h.. for the last 24 hours.`
  const [since, until] = instants
  return {
    ...(typeof since === 'number' && { event_since: new Date(since).toISOString() }),
    ...(typeof until === 'number' && { event_until: new Date(until).toISOString() }),
  }
}

/** Reads one word; a text is what was not understood. */
function condition({ key, value }: Token, now: number, utc: boolean): [name: Name, value: string] | string {
  if (key === null) return bare(value)
  if (!isKey(key))
    return `Unknown search key “${key}:”. Use ${Object.keys(SEARCH_KEYS).join(', ')}. To search subjects for it, put it in quotation marks.`
  // With a value, `readSearch` reads it.
  if (value === '' || key === 'happened') return `“${key}:” needs a value: ${SEARCH_KEYS[key]}.`
  if (key === 'after' || key === 'before') {
    const at = instantIn(value, now, utc)
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
    return idIn(value) === null
      ? `“id:${value}” is not an email ID. Use a complete ID.`
      : ['id', idIn(value) ?? '']
  if (key === 'broadcast')
    return idIn(value) === null
      ? `“broadcast:${value}” is not a broadcast ID. Use a complete ID.`
      : ['broadcast', idIn(value) ?? '']
  if (key === 'to' && value.startsWith('@')) return ['to_domain', value.slice(1)]
  return [key === 'at' ? 'to_domain' : key, value]
}

const second = (token: Token, conditions: EmailConditions): SearchRead => ({
  conditions,
  problem: `“${written(token)}” repeats a search condition. Use each condition only once.`,
})

/**
 * Reads a search. Words without a key are sought in the subject; an address, an id and a Message-ID are recognised.
 * @param now what spans of time are counted back from (Unix milliseconds)
 * @param utc whether days begin at midnight in UTC rather than in the viewer's zone
 */
export function readSearch(text: string, now: number, utc: boolean): SearchRead {
  const conditions: EmailConditions = {}
  for (const token of tokens(text)) {
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

/** What a queue id of a mail server may look like (Postfix, Exim, Sendmail, Gmail): letters and digits mixed, eight at least. */
const QUEUE_ID = /^(?=.*\d)(?=.*[a-z])[a-z0-9_.-]{8,100}$/i

/**
 * The conditions that find the email somebody means who pasted one thing: an id (also within an address of the dashboard), a Message-ID, an
 * address, or the id that a mail server gave it. Null for other words.
 */
export function soughtIn(text: string): EmailConditions | null {
  const one = text.trim()
  const [, message] = /(<[^<>\s]+@[^<>\s]+>)/.exec(one) ?? []
  if (message !== undefined) return { message_id: message }
  // Our own Message-IDs are the id of the email, an @ and the domain.
  const id = idIn(one)
  if (id !== null) return { id }
  if (/^[^\s@:]+@[^\s@]*$/.test(one)) return { to: one }
  return QUEUE_ID.test(one) ? { reply: one } : null
}
