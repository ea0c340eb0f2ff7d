/** Calendar periods in a time zone: hours, days, weeks and months. Pure. */

import type { GRANULARITIES } from '../api/metrics.ts'

export type Granularity = (typeof GRANULARITIES)[number]

/** From `start` (inclusive) to `end` (exclusive), in Unix milliseconds. */
export interface Period {
  start: number
  end: number
}

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** The shortest possible period of each granularity, which bounds their number. */
const LEAST: Record<Granularity, number> = {
  hourly: HOUR / 2,
  daily: 20 * HOUR,
  weekly: 6 * DAY,
  monthly: 27 * DAY,
}

/** The clock of a time zone. */
export interface TimeZone {
  /** Returns the offset of local time from UTC at a time, in milliseconds. */
  offsetAt(at: number): number
}

/** The offset in formatted output: `GMT`, `GMT+05:45`, and with seconds for historical times. */
const OFFSET = /GMT(?:(?<sign>[+-])(?<hours>\d+):(?<minutes>\d+)(?::(?<seconds>\d+))?)?$/

function offsetIn(text: string): number {
  const { sign, hours = 0, minutes = 0, seconds = 0 } = OFFSET.exec(text)?.groups ?? {}
  const offset = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000
  return sign === '-' ? -offset : offset
}

/** Returns the zone of an IANA name (`America/New_York`); undefined when there is none. */
export function findZone(name: string): TimeZone | undefined {
  if (name === 'UTC') return { offsetAt: () => 0 }
  // The formatter also accepts offsets such as +02:00, which aren't zone names.
  if (!/^[A-Za-z]/.test(name)) return undefined
  let format: Intl.DateTimeFormat
  try {
    // A formatter that includes the hour takes twenty times as long to create, and a chart of a week in hours uses it
    // 170 times.
    format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' })
  } catch {
    // The platform doesn't know this zone.
    return undefined
  }
  return { offsetAt: (at) => offsetIn(format.format(at)) }
}

/**
 * Converts a local time (given as if it were UTC) to a time. Ambiguous times give the first; times skipped by the clock
 * give the moment of the change.
 */
export function toInstant(local: number, zone: TimeZone): number {
  const before = zone.offsetAt(local - DAY)
  const after = zone.offsetAt(local + DAY)
  const candidates = [local - Math.max(before, after), local - Math.min(before, after)]
  return candidates.find((at) => at + zone.offsetAt(at) === local) ?? local - before
}

/**
 * Returns the start of the period that is `step` periods after the one that contains a local time. Both are local
 * times.
 */
function boundary(local: number, granularity: Exclude<Granularity, 'hourly'>, step: number): number {
  const date = new Date(local)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  if (granularity === 'monthly') return Date.UTC(year, month + step, 1)
  if (granularity === 'daily') return Date.UTC(year, month, day + step)
  // Weeks begin on Monday (ISO 8601).
  return Date.UTC(year, month, day - ((date.getUTCDay() + 6) % 7) + 7 * step)
}

/**
 * Returns the start of the hour on the zone's clock. In zones with half-hour offsets, hours begin at half past in UTC.
 */
const hourOf = (at: number, zone: TimeZone): number => {
  const local = at + zone.offsetAt(at)
  return at - (((local % HOUR) + HOUR) % HOUR)
}

function startOf(at: number, granularity: Granularity, zone: TimeZone): number {
  if (granularity === 'hourly') return hourOf(at, zone)
  return toInstant(boundary(at + zone.offsetAt(at), granularity, 0), zone)
}

function nextStart(start: number, granularity: Granularity, zone: TimeZone): number {
  // A half-hour clock change makes one local hour shorter or longer.
  if (granularity === 'hourly') return Math.max(hourOf(start + HOUR, zone), start + HOUR / 2)
  const next = toInstant(boundary(start + zone.offsetAt(start), granularity, 1), zone)
  // A day that a zone skipped (Samoa, December 30, 2011) has no length.
  return next > start ? next : toInstant(boundary(start + zone.offsetAt(start), granularity, 2), zone)
}

/**
 * Returns the periods that a range touches, without gaps; the first and last may extend beyond it. Undefined when there
 * may be more than `most`.
 */
export function listPeriods(
  range: Period,
  granularity: Granularity,
  zone: TimeZone,
  most: number,
): Period[] | undefined {
  if ((range.end - range.start) / LEAST[granularity] > most * 2) return undefined
  const periods: Period[] = []
  let start = startOf(range.start, granularity, zone)
  while (start < range.end || periods.length === 0) {
    if (periods.length === most) return undefined
    const end = nextStart(start, granularity, zone)
    periods.push({ start, end })
    start = end
  }
  return periods
}
