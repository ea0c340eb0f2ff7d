/** A team's usage of its plan, formatted. Pure. */
import type { UsageHistory } from '../../../appliance/api/usage.ts'

type Period = UsageHistory['days'][number]

/**
 * Returns null for the largest safe integer, which the API uses for "no limit", for compatibility with the hosted
 * service.
 */
export const limitOf = (limit: number | null): number | null =>
  limit === Number.MAX_SAFE_INTEGER ? null : limit

/** `requests per second` */
export const rateWords = (duration: string): string =>
  duration === '1s' ? 'requests per second' : `requests per ${duration}`

const DAY_WORDS = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' })
const MONTH_WORDS = new Intl.DateTimeFormat('en', { month: 'short', year: 'numeric', timeZone: 'UTC' })

/** Formats a period: `2026-11-20` is `Nov 20`, and `2026-11` is `Nov 2026`. */
export function periodWords(period: string): string {
  const at = Date.parse(period)
  if (Number.isNaN(at)) return ''
  return (period.length > 7 ? DAY_WORDS : MONTH_WORDS).format(at)
}

/** Describes the periods: total and maximum. */
export function historyWords(periods: readonly Period[]): string {
  const total = periods.reduce((sum, { used }) => sum + used, 0)
  if (total === 0) return 'No recipients in this period.'
  const busiest = periods.reduce((most, one) => (one.used > most.used ? one : most))
  const many = total === 1 ? '1 recipient' : `${total.toLocaleString('en')} recipients`
  return `${many} in total. Busiest: ${periodWords(busiest.period)} with ${busiest.used.toLocaleString('en')}.`
}

/** Columns of a chart. Heights are in percent. */
export interface UsageBars {
  /** The value at the top of the chart. */
  top: number
  /** The position of the limit; null if there is none or it is out of range. */
  limitAt: number | null
  bars: (Period & { height: number; over: boolean })[]
}

/** Ratio to the highest column up to which a limit is shown. */
const LIMIT_SHOWN = 3

/**
 * Returns the columns of the chart.
 * @param limit per period; null for none
 */
export function barsOf(periods: readonly Period[], limit: number | null): UsageBars {
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
