import { Type, type Static } from 'typebox'
import { Id, kind, literals } from '../../api/shared.ts'

/** `2026-07-01T00:00:00.000Z`, as metrics write it (reference: wire format §1.3). */
const Instant = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2026-07-01T00:00:00.000Z'] })

const Values = Type.Number({ description: 'A count, or a share from 0 to 1.' })

/** One row of metrics: which of these fields are there depends on the dimensions; the others are metrics. */
export const MetricsRow = Type.Unsafe<Record<string, string | number | null>>(
  Type.Object(
    {
      period: Type.Optional(Instant('Start of the period. Only with dimension `period`.')),
      domain_id: Type.Optional(Id),
      domain_name: Type.Optional(
        Type.String({ description: 'Only with dimension `domain`; `(removed)` for a removed domain.' }),
      ),
      email_id: Type.Optional(Id),
    },
    { additionalProperties: Values, description: 'One combination of the dimensions, with its metrics.' },
  ),
)

/** GET /emails/metrics (reference: wire format §2.2). */
export const Metrics = Type.Object(
  {
    object: kind('metrics'),
    start_date: Instant('Start of the range.'),
    end_date: Instant('End of the range.'),
    metrics: Type.Array(Type.String(), {
      description: 'The metrics in the response.',
      examples: [['delivered']],
    }),
    dimensions: Type.Array(literals(['period', 'domain', 'email', 'broadcast']), {
      description: 'The dimensions of the rows.',
      examples: [['period']],
    }),
    granularity: literals(['hourly', 'daily', 'weekly', 'monthly'], {
      description: 'Length of the periods.',
    }),
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
    data: Type.Optional(
      Type.Array(MetricsRow, { description: 'One row for each combination; absent without dimensions.' }),
    ),
  },
  { description: 'Sending metrics.' },
)
export type Metrics = Static<typeof Metrics>

/** GET /emails/metrics/breakdown. Not part of the hosted API. */
export const MetricsBreakdown = Type.Object(
  {
    object: kind('metrics_breakdown'),
    by: literals(['period', 'domain', 'provider', 'tag', 'bounce_category'], {
      description: 'The dimension of the rows.',
    }),
    start_date: Instant('Start of the range.'),
    end_date: Instant('End of the range.'),
    granularity: literals(['hourly', 'daily', 'weekly', 'monthly'], {
      description: 'Length of the periods; only for `period`.',
    }),
    metrics: Type.Array(Type.String(), {
      description: 'The metrics. Fewer if filtered by provider or for a bounce category.',
      examples: [['delivered', 'bounced']],
    }),
    totals: Type.Record(Type.String(), Values, {
      description: 'The totals of the whole range. For `tag`, includes emails without tags.',
    }),
    counted_until: Type.Optional(
      Instant(
        'Only for `tag`, while earlier mail is still being counted: events after this time are in no row.',
      ),
    ),
    data: Type.Array(
      Type.Object({
        value: Type.Union([Type.String(), Type.Null()], {
          description:
            'Start of the period, id of the domain or provider, tag as `name:value`, or category; null: all that have no row of their own.',
          examples: ['google'],
        }),
        name: Type.Union([Type.String(), Type.Null()], {
          description: 'Display name; null: none, such as for a removed domain.',
          examples: ['Gmail'],
        }),
        counts: Type.Record(Type.String(), Values, { description: 'The metrics of this row.' }),
      }),
      { description: 'Periods in order of time, others in descending order.' },
    ),
  },
  { description: 'Metrics broken down by one dimension.' },
)
export type MetricsBreakdown = Static<typeof MetricsBreakdown>
