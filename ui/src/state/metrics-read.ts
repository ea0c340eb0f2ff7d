/** What the page of metrics reads, from its address: so it can be asked for before its script is there. */
import { breakDown, type MetricsBreakdown } from '../api/metrics.ts'
import { bounds, type Span } from './metrics-range.ts'

/** Which mail the numbers are of. */
export interface MetricsOf {
  domain: string | null
  provider: string | null
  /** Whether days are those of UTC. */
  utc: boolean
}

const BREAKDOWNS = ['domain', 'provider', 'tag', 'broadcast', 'bounce_category'] as const
export type BrokenDownBy = (typeof BREAKDOWNS)[number]

/** What the table below the charts is by, as the address says. */
export const byIn = (query: URLSearchParams): BrokenDownBy =>
  BREAKDOWNS.find((one) => one === query.get('by')) ?? 'domain'

/** Which numbers these are; the same while time goes on within the stretch. */
export const aboutOf = (span: Span, { domain, provider, utc }: MetricsOf): string =>
  [span.start, span.end, span.granularity, utc, domain, provider].join(' ')

/** What to ask for, of the stretch or of that before it. */
export function questionOf(
  span: Span,
  { domain, provider, utc }: MetricsOf,
  now: number,
  which: 'now' | 'before',
): Record<string, string> {
  const { start, end } = bounds(span, now)[which]
  return {
    ...{ start_date: start, end_date: end, granularity: span.granularity },
    timezone: utc ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone,
    ...(domain !== null && { domain_id: domain }),
    ...(provider !== null && { provider }),
  }
}

/** The numbers of the charts, with those of the stretch before. */
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
