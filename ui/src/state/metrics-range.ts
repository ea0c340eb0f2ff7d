/** Time ranges of the metrics page, and their previous periods. Pure. Instants are Unix milliseconds. */

/** Named ranges. Any other days are a custom range. */
export const RANGES = [
  ['24h', '24 hours'],
  ['7d', '7 days'],
  ['30d', '30 days'],
  ['90d', '90 days'],
] as const
export type Range = (typeof RANGES)[number][0] | 'custom'
const DAYS: Partial<Record<Range, number>> = { '7d': 7, '30d': 30, '90d': 90 }

const HOUR = 3_600_000
/** Maximum number of days of a custom range that is shown by the hour. */
const BY_HOUR = 3
/** Maximum number of days of a custom range, because a screen can't show more points. */
export const MAX_DAYS = 400

export interface Span {
  start: number
  /** End of the period, exclusive; may be in the future. */
  end: number
  /** Start of the previous period. */
  before: number
  granularity: 'hourly' | 'daily'
  /** Name of the period, such as `7 days`, that completes "the … before". */
  words: string
}

/** Range parameters in the address. */
export interface RangeParameters {
  range: string | null
  /** First day of a custom range, such as `2026-11-20`. `from` and `to` are both inclusive. */
  from: string | null
  to: string | null
}

/** Returns the start of the day that contains `at`, `plus` days later. */
function dayOf(at: number, plus: number, utc: boolean): number {
  const date = new Date(at)
  if (utc) return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate() + plus)
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + plus).getTime()
}

/** Returns the start of the hour that contains `at`. Some time zones are offset by half an hour. */
function hourOf(at: number, utc: boolean): number {
  const date = new Date(at)
  if (utc) return at - (at % HOUR)
  return at - (date.getMinutes() * 60 + date.getSeconds()) * 1000 - date.getMilliseconds()
}

/** Parses a day. Undefined if it doesn't exist, such as `2026-02-31`. */
function dayIn(text: string | null, utc: boolean): number | undefined {
  if (text === null || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined
  const at = Date.parse(`${text}T00:00:00Z`)
  if (Number.isNaN(at) || !new Date(at).toISOString().startsWith(text)) return undefined
  const date = new Date(at)
  return utc ? at : new Date(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()).getTime()
}

/** Returns the range in the address; the last seven days by default. */
export const getRange = ({ range }: RangeParameters): Range =>
  range === 'custom' ? range : (RANGES.find(([name]) => name === range)?.[0] ?? '7d')

/**
 * Returns the period, in whole hours or days of the viewer's time zone, or an error message for a custom range.
 * @param utc whether days are in UTC
 */
export function computeSpan(asked: RangeParameters, now: number, utc: boolean): Span | string {
  const range = getRange(asked)
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
  // Rounded, since some days have 23 or 25 hours.
  const count = Math.round((to - from) / (24 * HOUR)) + 1
  if (count > MAX_DAYS) return `The range is longer than ${MAX_DAYS} days. Choose a shorter one.`
  return ofDays(from, count, utc, count <= BY_HOUR ? 'hourly' : 'daily')
}

const ofDays = (start: number, days: number, utc: boolean, granularity: Span['granularity']): Span => ({
  start,
  end: dayOf(start, days, utc),
  before: dayOf(start, -days, utc),
  granularity,
  words: days === 1 ? 'day' : `${days} days`,
})

/** Formats the day of an instant for the address. */
export function formatDay(at: number, utc: boolean): string {
  const date = new Date(at)
  if (utc) return date.toISOString().slice(0, 10)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

/**
 * Returns the periods to request. The previous one is cut off at the same point as the current one, so that the
 * comparison is fair.
 */
export function computeBounds(
  span: Span,
  now: number,
): Record<'now' | 'before', { start: string; end: string }> {
  const iso = (at: number) => new Date(at).toISOString()
  const end = Math.min(span.end, now)
  const shift = span.start - span.before
  return {
    now: { start: iso(span.start), end: iso(end) },
    before: { start: iso(span.before), end: iso(Math.min(end - shift, span.start)) },
  }
}
