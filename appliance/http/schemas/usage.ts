import { Type, type Static } from 'typebox'
import { kind, Nullable, Timestamp } from './shared.ts'

const count = (description: string) => Type.Integer({ minimum: 0, description })
const Used = count('How much is used.')
/** Clients of the hosted service expect a number: the largest safe one stands for no limit. */
const Bound = count('How much there may be. 9007199254740991 stands for no limit.')
const Limit = Nullable(Type.Integer({ minimum: 0 }), {
  description: 'How much there may be; null: there is no limit.',
})

const period = <T extends typeof Bound | typeof Limit>(limit: T, description: string) =>
  Type.Object(
    {
      used: count('Recipients that count against the limit.'),
      limit,
      sent: count('Recipients that were sent to.'),
      received: count('Emails that came in.'),
      resets_at: Timestamp,
    },
    { description },
  )

/** GET /usage (reference: wire format §2.14): what a team has used of its plan. Days and months are those of UTC. */
export const Usage = Type.Object(
  {
    object: kind('usage'),
    generated_at: Timestamp,
    emails: Type.Object(
      { daily: period(Limit, 'This day, in UTC.'), monthly: period(Bound, 'This month, in UTC.') },
      { description: 'Recipients of emails.' },
    ),
    contacts: Type.Object({ used: Used, limit: Bound }, { description: 'Contacts.' }),
    segments: Type.Object({ used: Used, limit: Limit }, { description: 'Segments of contacts.' }),
    broadcasts: Type.Object(
      { used: Used, limit: Type.Null({ description: 'There is no limit.' }) },
      { description: 'Broadcasts.' },
    ),
    ai_credits: Type.Object(
      {
        used: Used,
        limit: Limit,
        next_increase_at: Nullable(Timestamp, { description: 'When there is more; null: never.' }),
      },
      { description: 'Always nothing: for clients of the hosted service only.' },
    ),
    automation_runs: Type.Object(
      { used: Used, limit: Bound, resets_at: Timestamp },
      { description: 'Always nothing: for clients of the hosted service only.' },
    ),
    domains: Type.Object({ used: Used, limit: Limit }, { description: 'Domains to send from.' }),
    rate_limit: Type.Object(
      {
        limit: count('How many requests are taken in `duration`.'),
        duration: Type.String({ description: 'How long that is.', examples: ['1s'] }),
      },
      { description: 'How fast requests may come.' },
    ),
  },
  { description: 'What the team has used of its plan.' },
)
export type Usage = Static<typeof Usage>

const periods = (description: string, example: string) =>
  Type.Array(
    Type.Object(
      {
        period: Type.String({ description: 'Its name.', examples: [example] }),
        used: count('Recipients that counted against the limit.'),
      },
      { description: 'A day or month of UTC.' },
    ),
    { description },
  )

/** GET /usage/history; ours. */
export const UsageHistory = Type.Object(
  {
    object: kind('usage_history'),
    days: periods('The last 30 days, oldest first.', '2026-11-20'),
    months: periods('The last 12 months, oldest first.', '2026-11'),
  },
  { description: 'What the team used day by day and month by month.' },
)
export type UsageHistory = Static<typeof UsageHistory>
