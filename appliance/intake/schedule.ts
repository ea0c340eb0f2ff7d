/** Parses when an email should be sent. Pure. The only file that imports chrono-node. */
import { createRequire } from 'node:module'
import type * as Chrono from 'chrono-node/en'
import { refuse } from '../mail/refusals.ts'

/** How far ahead an email can be scheduled (milliseconds): 30 days, as in the hosted service. */
export const MAX_SCHEDULE_AHEAD = 30 * 24 * 60 * 60 * 1000

/** Longer texts can't be times. Bounds the work of the language parser's patterns. */
const MAX_TEXT = 100

const field = 'scheduled_at'
const expected =
  'a date in ISO 8601 such as `2026-12-01T09:00:00Z`, or words such as `in 1 hour`, `tomorrow at 9am` or `Friday at 3pm ET`; without a time zone it is UTC'

/**
 * Parses `scheduled_at`: ISO 8601, or English relative to `now`. Returns Unix milliseconds; null if it isn't set.
 * Refuses: `invalid_field` unless every word is understood, because a partly understood time would send mail at the
 * wrong time.
 */
export function parseSchedule(text: string | null | undefined, now: number): number | null {
  const asked = text?.trim() ?? ''
  if (asked === '') return null
  const instant = asked.length > MAX_TEXT ? undefined : (readIso(asked) ?? readWords(asked, now))
  if (instant === undefined || !Number.isFinite(instant)) throw refuse('invalid_field', { field, expected })
  return Math.trunc(instant)
}

/** Refuses a time in the past or too far ahead: `schedule_past`, `invalid_field`. Null is valid: it means now. */
export function checkSchedule(scheduledAt: number | null, now: number): void {
  if (scheduledAt === null) return
  if (scheduledAt <= now) throw refuse('schedule_past', { field })
  if (scheduledAt - now > MAX_SCHEDULE_AHEAD)
    throw refuse('invalid_field', { field, expected: 'a date at most 30 days from now' })
}

/**
 * ISO 8601 in the profile of RFC 3339 §5.6, also with a space, without seconds, or without the offset, which then means
 * UTC.
 */
const iso =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s?([Zz]|[+-]\d\d(?::?\d\d)?)?)?$/

function readIso(text: string): number | undefined {
  const match = iso.exec(text)
  if (!match) return undefined
  const [, year, month, day, hour = '00', minute = '00', second = '00', fraction = '0', zone = 'Z'] = match
  const date = `${year!}-${month!}-${day!}`
  const ms = fraction.slice(0, 3).padEnd(3, '0')
  const utc = Date.parse(`${date}T${hour}:${minute}:${second}.${ms}Z`)
  // The parser reads February 30 as March 2.
  if (!Number.isFinite(utc) || !new Date(Date.parse(date)).toISOString().startsWith(date)) return NaN
  return utc - offsetMinutes(zone) * 60_000
}

/** Parses an offset; NaN if it is invalid: hours end at 23, minutes at 59 (RFC 3339 §5.6). */
function offsetMinutes(zone: string): number {
  if (/^z$/i.test(zone)) return 0
  const digits = zone.slice(1).replace(':', '').padEnd(4, '0')
  const [hours, minutes] = [Number(digits.slice(0, 2)), Number(digits.slice(2))]
  if (hours > 23 || minutes > 59) return NaN
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
}

/** Words that refer to the past. Without them, "Friday" means the next one. */
const backwards = /\b(last|past|previous|ago|yesterday)\b/i

/** Loaded on first use: it is the largest package, and most daemons never need it. */
const language = (): typeof Chrono => createRequire(import.meta.url)('chrono-node/en') as typeof Chrono

function readWords(text: string, now: number): number | undefined {
  const reference = { instant: new Date(now), timezone: 'UTC' }
  const [found, ...others] = language().parse(text, reference, { forwardDate: !backwards.test(text) })
  if (!found || others.length > 0 || found.end) return undefined
  const whole = found.index === 0 && found.text.length === text.length
  return whole ? found.start.date().getTime() : undefined
}
