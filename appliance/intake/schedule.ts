/** When an email is to be sent, as callers write it. Pure. The only file that knows chrono-node. */
import { createRequire } from 'node:module'
import type * as Chrono from 'chrono-node/en'
import { refuse } from '../mail/refusals.ts'

/** How far ahead an email can be scheduled (milliseconds): 30 days, as in the hosted service. */
export const MAX_AHEAD = 30 * 24 * 60 * 60 * 1000

/** Longer texts are no times. Bounds what the language parser's patterns can be made to do. */
const MAX_TEXT = 100

const field = 'scheduled_at'
const expected =
  'a date in ISO 8601 such as `2026-12-01T09:00:00Z`, or words such as `in 1 hour`, `tomorrow at 9am` or `Friday at 3pm ET`; without a time zone it is UTC'

/**
 * Reads `scheduled_at`: ISO 8601, or English words relative to `now`. Unix milliseconds; null when it is not set.
 * Refuses: `invalid_field` for what is not understood to its last word: a time that is only half understood would send
 * mail at the wrong one.
 */
export function readSchedule(text: string | null | undefined, now: number): number | null {
  const asked = text?.trim() ?? ''
  if (asked === '') return null
  const instant = asked.length > MAX_TEXT ? undefined : (readIso(asked) ?? readWords(asked, now))
  if (instant === undefined || !Number.isFinite(instant)) throw refuse('invalid_field', { field, expected })
  return Math.trunc(instant)
}

/** Refuses a time that is over or too far: `schedule_past`, `invalid_field`. Null is fine: it means now. */
export function checkSchedule(scheduledAt: number | null, now: number): void {
  if (scheduledAt === null) return
  if (scheduledAt <= now) throw refuse('schedule_past', { field })
  if (scheduledAt - now > MAX_AHEAD)
    throw refuse('invalid_field', { field, expected: 'a date at most 30 days from now' })
}

/** ISO 8601 as RFC 3339 §5.6 profiles it, also with a space, without seconds, or without the offset: UTC then. */
const iso =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s?([Zz]|[+-]\d\d(?::?\d\d)?)?)?$/

function readIso(text: string): number | undefined {
  const match = iso.exec(text)
  if (!match) return undefined
  const [, year, month, day, hour = '00', minute = '00', second = '00', fraction = '0', zone = 'Z'] = match
  const date = `${year!}-${month!}-${day!}`
  const ms = fraction.slice(0, 3).padEnd(3, '0')
  const utc = Date.parse(`${date}T${hour}:${minute}:${second}.${ms}Z`)
  // The parser takes 30 February for 2 March.
  if (!Number.isFinite(utc) || !new Date(Date.parse(date)).toISOString().startsWith(date)) return NaN
  return utc - offsetMinutes(zone) * 60_000
}

/** NaN for an offset that is none: hours end at 23, minutes at 59 (RFC 3339 §5.6). */
function offsetMinutes(zone: string): number {
  if (/^z$/i.test(zone)) return 0
  const digits = zone.slice(1).replace(':', '').padEnd(4, '0')
  const [hours, minutes] = [Number(digits.slice(0, 2)), Number(digits.slice(2))]
  if (hours > 23 || minutes > 59) return NaN
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
}

/** "Friday" is the next one, unless the words look back. */
const backwards = /\b(last|past|previous|ago|yesterday)\b/i

/** Loaded with the first words: it is the heaviest package of all, and most daemons never need it. */
const language = (): typeof Chrono => createRequire(import.meta.url)('chrono-node/en') as typeof Chrono

function readWords(text: string, now: number): number | undefined {
  const reference = { instant: new Date(now), timezone: 'UTC' }
  const [found, ...others] = language().parse(text, reference, { forwardDate: !backwards.test(text) })
  if (!found || others.length > 0 || found.end) return undefined
  const whole = found.index === 0 && found.text.length === text.length
  return whole ? found.start.date().getTime() : undefined
}
