/** The calendar: hours, days, weeks and months as people of a time zone have them. Pure. */

import type { GRANULARITIES } from '../api/metrics.ts'

export type Granularity = (typeof GRANULARITIES)[number]

/** From `start` until before `end`, Unix milliseconds. */
export interface Period {
  start: number
  end: number
}

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** The shortest that a period of each granularity can be: no more of them fit. */
const LEAST: Record<Granularity, number> = {
  hourly: HOUR / 2,
  daily: 20 * HOUR,
  weekly: 6 * DAY,
  monthly: 27 * DAY,
}

/** A time zone's clock. */
export interface Zone {
  /** How far local time is ahead of UTC at an instant, in milliseconds. */
  offsetAt(at: number): number
}

/** How formatters end that tell no more of a time than its offset: `GMT`, `GMT+05:45`, and with seconds before clocks agreed on hours. */
const OFFSET = /GMT(?:(?<sign>[+-])(?<hours>\d+):(?<minutes>\d+)(?::(?<seconds>\d+))?)?$/

function offsetIn(text: string): number {
  const { sign, hours = 0, minutes = 0, seconds = 0 } = OFFSET.exec(text)?.groups ?? {}
  const offset = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000
  return sign === '-' ? -offset : offset
}

/** The zone of an IANA name (`America/New_York`), or undefined when there is none. */
export function zoneOf(name: string): Zone | undefined {
  if (name === 'UTC') return { offsetAt: () => 0 }
  // Offsets such as +02:00 are taken by the formatter too, but are no names of zones.
  if (!/^[A-Za-z]/.test(name)) return undefined
  let format: Intl.DateTimeFormat
  try {
    // One that tells the hour too takes twenty times as long to make, and a chart of a week in hours asks it 170 times.
    format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' })
  } catch {
    // The platform knows no zone of this name, and that is the answer.
    return undefined
  }
  return { offsetAt: (at) => offsetIn(format.format(at)) }
}

/**
 * The instant at which the clocks of a zone show a time, which is given as if it were UTC. Of two the first; where clocks
 * jump over it, the instant of the jump.
 */
export function instantOf(local: number, zone: Zone): number {
  const before = zone.offsetAt(local - DAY)
  const after = zone.offsetAt(local + DAY)
  const candidates = [local - Math.max(before, after), local - Math.min(before, after)]
  return candidates.find((at) => at + zone.offsetAt(at) === local) ?? local - before
}

/** Start of the period that a local time is in, in local time; `step` periods further on. */
function boundary(local: number, granularity: Exclude<Granularity, 'hourly'>, step: number): number {
  const date = new Date(local)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  if (granularity === 'monthly') return Date.UTC(year, month + step, 1)
  if (granularity === 'daily') return Date.UTC(year, month, day + step)
  // Weeks begin on Monday (ISO 8601).
  return Date.UTC(year, month, day - ((date.getUTCDay() + 6) % 7) + 7 * step)
}

/** Start of the hour on the zone's clock; hours of zones that are half an hour off begin at half past in UTC. */
const hourOf = (at: number, zone: Zone): number => {
  const local = at + zone.offsetAt(at)
  return at - (((local % HOUR) + HOUR) % HOUR)
}

function startOf(at: number, granularity: Granularity, zone: Zone): number {
  if (granularity === 'hourly') return hourOf(at, zone)
  return instantOf(boundary(at + zone.offsetAt(at), granularity, 0), zone)
}

function nextStart(start: number, granularity: Granularity, zone: Zone): number {
  // Where clocks move by half an hour, one hour of theirs is shorter or longer.
  if (granularity === 'hourly') return Math.max(hourOf(start + HOUR, zone), start + HOUR / 2)
  const next = instantOf(boundary(start + zone.offsetAt(start), granularity, 1), zone)
  // A day that a zone left out (Samoa, 30 December 2011) has no length.
  return next > start ? next : instantOf(boundary(start + zone.offsetAt(start), granularity, 2), zone)
}

/**
 * The periods of a zone that a range touches, without gaps; the first and last may reach beyond it. Undefined when there
 * may be more than `most`.
 */
export function periodsOf(
  range: Period,
  granularity: Granularity,
  zone: Zone,
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
