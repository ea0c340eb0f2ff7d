/** Requests of the metrics page, derived from its address so that they can start before its script has loaded. */
import { breakDown, type MetricsBreakdown } from '../api/metrics.ts'
import { bounds, type Span } from './metrics-range.ts'

/** Filters of the metrics. */
export interface MetricsOf {
  domain: string | null
  provider: string | null
  /** Whether days are in UTC. */
  utc: boolean
}

const BREAKDOWNS = ['domain', 'provider', 'tag', 'broadcast', 'bounce_category'] as const
export type BrokenDownBy = (typeof BREAKDOWNS)[number]

/** Returns the breakdown in the address. */
export const byIn = (query: URLSearchParams): BrokenDownBy =>
  BREAKDOWNS.find((one) => one === query.get('by')) ?? 'domain'

/** Returns a cache key, which stays the same as time passes within the period. */
export const aboutOf = (span: Span, { domain, provider, utc }: MetricsOf): string =>
  [span.start, span.end, span.granularity, utc, domain, provider].join(' ')

/** Returns the API parameters of the period or the previous one. */
export function questionOf(
  span: Span,
  { domain, provider, utc }: MetricsOf,
  now: number,
  which: 'now' | 'before',
): Record<string, string> {
  const { start, end } = bounds(span, now)[which]
  return {
    start_date: start,
    end_date: end,
    granularity: span.granularity,
    timezone: utc ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone,
    ...(domain !== null && { domain_id: domain }),
    ...(provider !== null && { provider }),
  }
}

/** Loads the data of the charts for the current and the previous period. */
export async function readCharts(
  span: Span,
  of: MetricsOf,
  now: number,
  signal?: AbortSignal,
): Promise<Record<'now' | 'before', MetricsBreakdown>> {
  const ask = (which: 'now' | 'before') =>
    breakDown({ ...questionOf(span, of, now, which), by: 'period' }, signal)
  const [charts, before] = await Promise.all([ask('now'), ask('before')])
  return { now: charts, before }
}
