import type * as metrics from '../http/schemas/metrics.ts'

/** Metrics as they were counted; a shape, since the folder that counts them is above this one. Times in Unix milliseconds. */
export interface MetricsFacts {
  range: { start: number; end: number }
  metrics: readonly string[]
  dimensions: metrics.Metrics['dimensions']
  granularity: metrics.Metrics['granularity']
  totals: Record<string, number>
  rows:
    | {
        period?: number
        domainId?: string
        domainName?: string | null
        emailId?: string
        metrics: Record<string, number>
      }[]
    | null
}

const instant = (ms: number): string => new Date(ms).toISOString()

/** GET /emails/metrics. */
export function presentMetrics(facts: MetricsFacts): metrics.Metrics {
  const { range, rows, totals, granularity } = facts
  return {
    object: 'metrics',
    start_date: instant(range.start),
    end_date: instant(range.end),
    metrics: [...facts.metrics],
    dimensions: [...facts.dimensions],
    granularity,
    totals,
    ...(rows && {
      data: rows.map(({ period, domainId, domainName, emailId, metrics: values }) => ({
        ...(period === undefined ? {} : { period: instant(period) }),
        ...(domainId === undefined ? {} : { domain_id: domainId, domain_name: domainName ?? '(removed)' }),
        ...(emailId === undefined ? {} : { email_id: emailId }),
        ...values,
      })),
    }),
  }
}

/** What was counted, by one thing; a shape for the same reason. Times in Unix milliseconds. */
export interface BreakdownFacts {
  by: metrics.MetricsBreakdown['by']
  range: { start: number; end: number }
  granularity: metrics.MetricsBreakdown['granularity']
  metrics: readonly string[]
  totals: Record<string, number>
  rows: { value: string | number | null; name: string | null; counts: Record<string, number> }[]
  countedUntil: number | null
}

/** GET /emails/metrics/breakdown. */
export function presentBreakdown(facts: BreakdownFacts): metrics.MetricsBreakdown {
  const { by, range, granularity, totals, rows, countedUntil } = facts
  return {
    object: 'metrics_breakdown',
    by,
    start_date: instant(range.start),
    end_date: instant(range.end),
    granularity,
    metrics: [...facts.metrics],
    totals,
    ...(countedUntil !== null && { counted_until: instant(countedUntil) }),
    data: rows.map(({ value, name, counts }) => ({
      value: typeof value === 'number' ? instant(value) : value,
      name,
      counts,
    })),
  }
}
