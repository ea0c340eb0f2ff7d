/** Which stretch of time metrics are shown of, and the one before it. Pure; instants are Unix milliseconds. */

/** Those with a name; other days are a custom range. */
export const RANGES = [
  ['24h', '24 hours'],
  ['7d', '7 days'],
  ['30d', '30 days'],
  ['90d', '90 days'],
] as const
export type Range = (typeof RANGES)[number][0] | 'custom'
const DAYS: Partial<Record<Range, number>> = { '7d': 7, '30d': 30, '90d': 90 }

const HOUR = 3_600_000
/** Days of a custom range that are drawn by the hour. */
const BY_HOUR = 3
/** Days of a custom range: more points than that no screen shows apart. */
export const MOST_DAYS = 400

export interface Span {
  start: number
  /** Not in it; may be later than now. */
  end: number
  /** Start of the stretch of the same length before it. */
  before: number
  granularity: 'hourly' | 'daily'
  /** `7 days`: completes "the … before". */
  words: string
}

/** What the address says. */
export interface Asked {
  range: string | null
  /** Days of a custom range, `2026-11-20`, both in it. */
  from: string | null
  to: string | null
}

/** The first instant of a day in the zone, `plus` days later. */
function dayOf(at: number, plus: number, utc: boolean): number {
  const date = new Date(at)
  if (utc) return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate() + plus)
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + plus).getTime()
}

/** The hour on the clock of the zone: some zones are half an hour off. */
function hourOf(at: number, utc: boolean): number {
  const date = new Date(at)
  if (utc) return at - (at % HOUR)
  return at - (date.getMinutes() * 60 + date.getSeconds()) * 1000 - date.getMilliseconds()
}

/** The day that a text names, or undefined: `2026-02-31` is none. */
function dayIn(text: string | null, utc: boolean): number | undefined {
  if (text === null || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined
  const at = Date.parse(`${text}T00:00:00Z`)
  if (Number.isNaN(at) || !new Date(at).toISOString().startsWith(text)) return undefined
  const date = new Date(at)
  return utc ? at : new Date(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()).getTime()
}

/** The range that the address asks for; the last seven days where it asks for none. */
export const rangeOf = ({ range }: Asked): Range =>
  range === 'custom' ? range : (RANGES.find(([name]) => name === range)?.[0] ?? '7d')

/**
 * The stretch of time, whole hours or days of the viewer's zone; a text says what is wrong with a custom range.
 * @param utc whether days are those of UTC
 */
export function spanOf(asked: Asked, now: number, utc: boolean): Span | string {
  const range = rangeOf(asked)
  if (range === '24h') {
    const start = hourOf(now, utc) - 23 * HOUR
    const end = start + 24 * HOUR
    return { start, end, before: start - 24 * HOUR, granularity: 'hourly', words: '24 hours' }
  }
  const days = DAYS[range]
  if (days !== undefined) return ofDays(dayOf(now, 1 - days, utc), days, utc, 'daily')
  const [from, to] = [dayIn(asked.from, utc), dayIn(asked.to, utc)]
  if (from === undefined || to === undefined) return 'Choose the first and last day.'
  if (to < from) return 'The last day is before the first day.'
  if (from > now) return 'The first day is in the future.'
  // Days with 23 or 25 hours.
  const count = Math.round((to - from) / (24 * HOUR)) + 1
  if (count > MOST_DAYS) return `The range is longer than ${MOST_DAYS} days. Choose a shorter one.`
  return ofDays(from, count, utc, count <= BY_HOUR ? 'hourly' : 'daily')
}

const ofDays = (start: number, days: number, utc: boolean, granularity: Span['granularity']): Span => ({
  start,
  end: dayOf(start, days, utc),
  before: dayOf(start, -days, utc),
  granularity,
  words: days === 1 ? 'day' : `${days} days`,
})

/** The day of an instant as the address writes it. */
export function dayText(at: number, utc: boolean): string {
  const date = new Date(at)
  if (utc) return date.toISOString().slice(0, 10)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

/** The stretches to ask for; that before ends where now would be in it, so that both are compared fairly. */
export function bounds(span: Span, now: number): Record<'now' | 'before', { start: string; end: string }> {
  const iso = (at: number) => new Date(at).toISOString()
  const end = Math.min(span.end, now)
  const shift = span.start - span.before
  return {
    now: { start: iso(span.start), end: iso(end) },
    before: { start: iso(span.before), end: iso(Math.min(end - shift, span.start)) },
  }
}
