import { Type, type Static } from 'typebox'
import { Id, kind, literals } from './shared.ts'

/** `2026-07-01T00:00:00.000Z`, as metrics write it (reference: wire format §1.3). */
const Instant = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2026-07-01T00:00:00.000Z'] })

const Values = Type.Number({ description: 'A count, or a share from 0 to 1.' })

/** One row of metrics: which of these fields are there depends on the dimensions; the others are metrics. */
export const MetricsRow = Type.Unsafe<Record<string, string | number | null>>(
  Type.Object(
    {
      period: Type.Optional(Instant('Start of the period. With dimension `period`.')),
      domain_id: Type.Optional(Id),
      domain_name: Type.Optional(
        Type.String({ description: 'With dimension `domain`; `(removed)` for one that is gone.' }),
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
      description: 'The metrics in the answer.',
      examples: [['delivered']],
    }),
    dimensions: Type.Array(literals(['period', 'domain', 'email', 'broadcast']), {
      description: 'What the rows tell apart.',
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
      Type.Array(MetricsRow, { description: 'A row for each combination; absent without dimensions.' }),
    ),
  },
  { description: 'How much mail there was, and what became of it.' },
)
export type Metrics = Static<typeof Metrics>

/** GET /emails/metrics/breakdown. Not at the hosted service. */
export const MetricsBreakdown = Type.Object(
  {
    object: kind('metrics_breakdown'),
    by: literals(['period', 'domain', 'provider', 'tag', 'bounce_category'], {
      description: 'What the rows are.',
    }),
    start_date: Instant('Start of the range.'),
    end_date: Instant('End of the range.'),
    granularity: literals(['hourly', 'daily', 'weekly', 'monthly'], {
      description: 'Length of the periods, by `period`.',
    }),
    metrics: Type.Array(Type.String(), {
      description: 'What is counted; less where a mailbox provider or a category is asked for.',
      examples: [['delivered', 'bounced']],
    }),
    totals: Type.Record(Type.String(), Values, {
      description: 'The numbers over the whole range, by `tag` of emails without tags too.',
    }),
    counted_until: Type.Optional(
      Instant(
        'By `tag`, where mail from before is still being counted: what happened since then is in no row.',
      ),
    ),
    data: Type.Array(
      Type.Object({
        value: Type.Union([Type.String(), Type.Null()], {
          description:
            'Start of the period, id of the domain or the provider, tag as `name:value`, or the category; null: all that are not told one by one.',
          examples: ['google'],
        }),
        name: Type.Union([Type.String(), Type.Null()], {
          description: 'For people; null where there is none, as of a domain that is gone.',
          examples: ['Gmail'],
        }),
        counts: Type.Record(Type.String(), Values, { description: 'The numbers of this row.' }),
      }),
      { description: 'Periods in their order, the others with the largest first.' },
    ),
  },
  { description: 'What became of the mail, told apart by one thing.' },
)
export type MetricsBreakdown = Static<typeof MetricsBreakdown>
