import { Type, type Static } from 'typebox'
import { array, arrayOfObjects, kind, literals, number, object, record, string } from './schemas.ts'
import { Id } from './shared.ts'
import { operationsIn } from './operation.ts'
import { query, unparsedParameter } from './parameters.ts'
import { isoTimestamp } from './timestamp.ts'

export const GRANULARITIES = ['hourly', 'daily', 'weekly', 'monthly'] as const
export const BREAKDOWNS = ['period', 'domain', 'provider', 'tag', 'broadcast', 'bounce_category'] as const

/** The time format of metrics, `2026-07-01T00:00:00.000Z` (reference: wire format §1.3). */
const Instant = (description: string) =>
  string(description, { format: 'date-time', examples: ['2026-07-01T00:00:00.000Z'] })

const Values = number('A count, or a share from 0 to 1.')

/** A row of metrics. The dimensions determine which of these fields it has. All other fields are metrics. */
export const MetricsRow = Type.Unsafe<Record<string, string | number | null>>(
  Type.Object(
    {
      period: Type.Optional(Instant('Start of the period. Only with dimension `period`.')),
      domain_id: Type.Optional(Id),
      domain_name: Type.Optional(string('Only with dimension `domain`; `(removed)` for a removed domain.')),
      email_id: Type.Optional(Id),
      broadcast_id: Type.Optional(Id),
      broadcast_name: Type.Optional(
        string('Only with dimension `broadcast`; `(removed)` for a removed broadcast.'),
      ),
    },
    { additionalProperties: Values, description: 'One combination of the dimensions, with its metrics.' },
  ),
)

/** GET /emails/metrics (reference: wire format §2.2). */
export const Metrics = object('Sending metrics.', {
  object: kind('metrics'),
  start_date: Instant('Start of the range.'),
  end_date: Instant('End of the range.'),
  metrics: array(Type.String(), 'The metrics in the response.', { examples: [['delivered']] }),
  dimensions: array(literals(['period', 'domain', 'email', 'broadcast']), 'The dimensions of the rows.', {
    examples: [['period']],
  }),
  granularity: literals(GRANULARITIES, 'Length of the periods.'),
  totals: Type.Unsafe<Record<string, number>>(
    Type.Object(
      {},
      {
        additionalProperties: Values,
        description: 'The metrics over the whole range.',
        examples: [{ sent: 1000, delivered: 988, bounced: 12, delivery_rate: 0.988 }],
      },
    ),
  ),
  data: Type.Optional(array(MetricsRow, 'One row for each combination; absent without dimensions.')),
})
export type Metrics = Static<typeof Metrics>

/** GET /emails/metrics/breakdown. Not part of the hosted API. */
export const MetricsBreakdown = object('Metrics broken down by one dimension.', {
  object: kind('metrics_breakdown'),
  by: literals(BREAKDOWNS, 'The dimension of the rows.'),
  start_date: Instant('Start of the range.'),
  end_date: Instant('End of the range.'),
  granularity: literals(GRANULARITIES, 'Length of the periods; only for `period`.'),
  metrics: array(Type.String(), 'The metrics. Fewer if filtered by provider or for a bounce category.', {
    examples: [['delivered', 'bounced']],
  }),
  totals: record(Values, 'The totals of the whole range. For `tag`, includes emails without tags.'),
  counted_until: Type.Optional(
    Instant(
      'Only for `tag`, while earlier mail is still being counted: events after this time are in no row.',
    ),
  ),
  data: arrayOfObjects('Periods in order of time, others in descending order.', {
    value: Type.Union([Type.String(), Type.Null()], {
      description:
        'Start of the period, id of the domain, provider or broadcast, tag as `name:value`, or category; null: all that have no row of their own.',
      examples: ['google'],
    }),
    name: Type.Union([Type.String(), Type.Null()], {
      description: 'Display name; null: none, such as for a removed domain.',
      examples: ['Gmail'],
    }),
    counts: record(Values, 'The metrics of this row.'),
  }),
})
export type MetricsBreakdown = Static<typeof MetricsBreakdown>

/** Query parameters that `parseMetricsQuery` parses. */
const range = {
  start_date: unparsedParameter(
    string('Start of the range: an ISO 8601 date or datetime. Default: six days before the end.'),
  ),
  end_date: unparsedParameter(
    string('End of the range, exclusive: an ISO 8601 date or datetime. Default: now.'),
  ),
  timezone: unparsedParameter(
    string('The IANA time zone of the periods, and of dates without an offset.', {
      default: 'UTC',
      examples: ['America/New_York'],
    }),
  ),
  granularity: unparsedParameter(
    string('Length of the periods; at most 10000 of them.', { enum: [...GRANULARITIES], default: 'daily' }),
  ),
}
const domain_id = unparsedParameter(string('Only these domains: up to 100 comma-separated ids.'))

const region = unparsedParameter(
  string('Only domains in this region. Deleted domains are not included.', { examples: ['eu-west-1'] }),
)

const operation = operationsIn('Emails')

export const getMetrics = operation('GET /emails/metrics', {
  summary: 'Get email metrics',
  description:
    'Totals over a time range, and rows by period, domain, email or broadcast. Numbers count recipients; rates are from 0 to 1. Without parameters: all metrics of the last six days.',
  querystring: query({
    ...range,
    metrics: unparsedParameter(
      string('Comma-separated metrics. Default: all.', { examples: ['sent,delivered,bounce_rate'] }),
    ),
    dimensions: unparsedParameter(
      string('Comma-separated dimensions of the rows: period, domain, email or broadcast.', {
        examples: ['period,domain'],
      }),
    ),
    domain_id,
    region,
    email_id: unparsedParameter(string('Only these emails: up to 100 comma-separated ids.')),
    broadcast_id: unparsedParameter(string('Only these broadcasts: up to 100 comma-separated ids.')),
  }),
  response: { 200: Metrics },
})
export const breakDownMetrics = operation('GET /emails/metrics/breakdown', {
  summary: 'Break down email metrics',
  description:
    'Totals over a time range by period, domain, mailbox provider, tag, broadcast or bounce category. For domains, providers, tags and broadcasts, the 50 largest have a row each and the others share one. An email counts for each of its tags. Opens and clicks by bots are counted separately. `GET /emails/search` finds the emails behind a number. Not part of the hosted API.',
  querystring: query({
    by: unparsedParameter(string('The dimension of the rows.', { enum: [...BREAKDOWNS], default: 'domain' })),
    ...range,
    domain_id,
    region,
    provider: unparsedParameter(
      string('Only these mailbox providers: up to 100 comma-separated ids.', { examples: ['google'] }),
    ),
  }),
  response: { 200: MetricsBreakdown },
})

/**
 * Counted metrics. Declared here because the metrics folder may not be imported from here. Times in Unix milliseconds.
 */
export interface MetricsFacts {
  range: { start: number; end: number }
  metrics: readonly string[]
  dimensions: Metrics['dimensions']
  granularity: Metrics['granularity']
  totals: Record<string, number>
  rows:
    | {
        period?: number
        domainId?: string
        domainName?: string | null
        emailId?: string
        broadcastId?: string
        broadcastName?: string | null
        metrics: Record<string, number>
      }[]
    | null
}

/** Formats the response of GET /emails/metrics. */
export function presentMetrics(facts: MetricsFacts): Metrics {
  const { range, rows, totals, granularity } = facts
  return {
    object: 'metrics',
    start_date: isoTimestamp(range.start),
    end_date: isoTimestamp(range.end),
    metrics: [...facts.metrics],
    dimensions: [...facts.dimensions],
    granularity,
    totals,
    ...(rows && {
      data: rows.map(
        ({ period, domainId, domainName, emailId, broadcastId, broadcastName, metrics: values }) => ({
          ...(period === undefined ? {} : { period: isoTimestamp(period) }),
          ...(domainId === undefined ? {} : { domain_id: domainId, domain_name: domainName ?? '(removed)' }),
          ...(emailId === undefined ? {} : { email_id: emailId }),
          ...(broadcastId === undefined
            ? {}
            : { broadcast_id: broadcastId, broadcast_name: broadcastName ?? '(removed)' }),
          ...values,
        }),
      ),
    }),
  }
}

/** A counted breakdown, declared here for the same reason as `MetricsFacts`. Times in Unix milliseconds. */
export interface BreakdownFacts {
  by: MetricsBreakdown['by']
  range: { start: number; end: number }
  granularity: MetricsBreakdown['granularity']
  metrics: readonly string[]
  totals: Record<string, number>
  rows: { value: string | number | null; name: string | null; counts: Record<string, number> }[]
  countedUntil: number | null
}

/** Formats the response of GET /emails/metrics/breakdown. */
export function presentBreakdown(facts: BreakdownFacts): MetricsBreakdown {
  const { by, range, granularity, totals, rows, countedUntil } = facts
  return {
    object: 'metrics_breakdown',
    by,
    start_date: isoTimestamp(range.start),
    end_date: isoTimestamp(range.end),
    granularity,
    metrics: [...facts.metrics],
    totals,
    ...(countedUntil !== null && { counted_until: isoTimestamp(countedUntil) }),
    data: rows.map(({ value, name, counts }) => ({
      value: typeof value === 'number' ? isoTimestamp(value) : value,
      name,
      counts,
    })),
  }
}
