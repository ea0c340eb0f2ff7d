/** A team's usage of its plan, formatted. Pure. */
import type { UsageHistory } from '../../../appliance/api/usage.ts'

type Period = UsageHistory['days'][number]

/**
 * Returns null for the largest safe integer, which the API uses for "no limit", for compatibility with the hosted
 * service.
 */
export const normalizeLimit = (limit: number | null): number | null =>
  limit === Number.MAX_SAFE_INTEGER ? null : limit

/** Formats the unit of a rate limit, such as `requests per second`. */
export const describeRateUnit = (duration: string): string =>
  duration === '1s' ? 'requests per second' : `requests per ${duration}`

const DAY_WORDS = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' })
const MONTH_WORDS = new Intl.DateTimeFormat('en', { month: 'short', year: 'numeric', timeZone: 'UTC' })

/** Formats a period: `2026-11-20` is `Nov 20`, and `2026-11` is `Nov 2026`. */
export function formatPeriod(period: string): string {
  const at = Date.parse(period)
  if (Number.isNaN(at)) return ''
  return (period.length > 7 ? DAY_WORDS : MONTH_WORDS).format(at)
}

/** Describes the usage of all periods: the total, and the busiest period. */
export function describeHistory(periods: readonly Period[]): string {
  const total = periods.reduce((sum, { used }) => sum + used, 0)
  if (total === 0) return 'No recipients in this period.'
  const busiest = periods.reduce((most, one) => (one.used > most.used ? one : most))
  const many = total === 1 ? '1 recipient' : `${total.toLocaleString('en')} recipients`
  return `${many} in total. Busiest: ${formatPeriod(busiest.period)} with ${busiest.used.toLocaleString('en')}.`
}

/** Columns of a chart. Heights are in percent. */
export interface UsageBars {
  /** The value at the top of the chart. */
  top: number
  /** The position of the limit; null if there is none or it is out of range. */
  limitAt: number | null
  bars: (Period & { height: number; over: boolean })[]
}

/** A limit is shown only up to this multiple of the highest column. */
const LIMIT_SHOWN = 3

/**
 * Returns the columns of the chart.
 * @param limit per period; null for none
 */
export function computeBars(periods: readonly Period[], limit: number | null): UsageBars {
  const most = Math.max(1, ...periods.map(({ used }) => used))
  const shown = limit !== null && limit > 0 && limit <= most * LIMIT_SHOWN
  const top = shown ? Math.max(most, limit) : most
  return {
    top,
    limitAt: shown ? (100 * limit) / top : null,
    bars: periods.map((one) => ({
      ...one,
      height: (100 * one.used) / top,
      over: limit !== null && one.used >= limit,
    })),
  }
}
