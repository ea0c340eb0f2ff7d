/**
 * Requests of the metrics page. They depend only on its address, so that they can start before its script has loaded.
 */
import { getMetricsBreakdown, type MetricsBreakdown } from '../api/metrics.ts'
import { computeBounds, type Span } from './metrics-range.ts'

/** Filters of the metrics. */
export interface MetricsFilter {
  domain: string | null
  provider: string | null
  /** Whether days are in UTC. */
  utc: boolean
}

const BREAKDOWNS = ['domain', 'provider', 'tag', 'broadcast', 'bounce_category'] as const
export type MetricsDimension = (typeof BREAKDOWNS)[number]

/** Returns the breakdown in the address. */
export const parseDimension = (query: URLSearchParams): MetricsDimension =>
  BREAKDOWNS.find((one) => one === query.get('by')) ?? 'domain'

/** Returns a cache key, which doesn't change as time passes within the period. */
export const getCacheKey = (span: Span, { domain, provider, utc }: MetricsFilter): string =>
  [span.start, span.end, span.granularity, utc, domain, provider].join(' ')

/** Returns the API parameters of the period or the previous one. */
export function buildMetricsQuery(
  span: Span,
  { domain, provider, utc }: MetricsFilter,
  now: number,
  which: 'now' | 'before',
): Record<string, string> {
  const { start, end } = computeBounds(span, now)[which]
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
export async function loadCharts(
  span: Span,
  of: MetricsFilter,
  now: number,
  signal?: AbortSignal,
): Promise<Record<'now' | 'before', MetricsBreakdown>> {
  const ask = (which: 'now' | 'before') =>
    getMetricsBreakdown({ ...buildMetricsQuery(span, of, now, which), by: 'period' }, signal)
  const [charts, before] = await Promise.all([ask('now'), ask('before')])
  return { now: charts, before }
}
