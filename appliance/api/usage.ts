import { Type, type Static } from 'typebox'
import { array, count, kind, Nullable, object, string } from './schemas.ts'
import { Timestamp } from './shared.ts'
import type { PeriodEnds, Plan } from '../senders/senders.ts'
import type { Usage as StoredUsage } from '../storage/storage.ts'
import { timestamp } from './timestamp.ts'
import { operationsIn } from './operation.ts'

const Used = count('Amount used.')
/** Clients of the hosted service expect a number, so the largest safe integer means no limit. */
const Bound = count('The limit. 9007199254740991 means no limit.')
const Limit = Nullable(Type.Integer({ minimum: 0 }), 'The limit; null: no limit.')

const period = <T extends typeof Bound | typeof Limit>(limit: T, description: string) =>
  object(description, {
    used: count('Recipients that count against the limit.'),
    limit,
    sent: count('Recipients of sent emails.'),
    received: count('Received emails.'),
    resets_at: Timestamp,
  })

/** GET /usage (reference: wire format §2.14): the team's usage of its plan. Days and months are in UTC. */
export const Usage = object("Usage of the team's plan.", {
  object: kind('usage'),
  generated_at: Timestamp,
  emails: object('Recipients of emails.', {
    daily: period(Limit, 'The current day, in UTC.'),
    monthly: period(Bound, 'This month, in UTC.'),
  }),
  contacts: object('Contacts.', { used: Used, limit: Bound }),
  segments: object('Segments of contacts.', { used: Used, limit: Limit }),
  broadcasts: object('Broadcasts.', { used: Used, limit: Type.Null({ description: 'No limit.' }) }),
  ai_credits: object('Always empty; for clients of the hosted service.', {
    used: Used,
    limit: Limit,
    next_increase_at: Nullable(Timestamp, 'When the limit resets; null: never.'),
  }),
  automation_runs: object('Always empty; for clients of the hosted service.', {
    used: Used,
    limit: Bound,
    resets_at: Timestamp,
  }),
  domains: object('Domains to send from.', { used: Used, limit: Limit }),
  rate_limit: object('The API rate limit.', {
    limit: count('Number of requests allowed in `duration`.'),
    duration: string('Length of the interval.', { examples: ['1s'] }),
  }),
})
export type Usage = Static<typeof Usage>

const periods = (description: string, example: string) =>
  array(
    object('A day or month of UTC.', {
      period: string('The day or month.', { examples: [example] }),
      used: count('Recipients that count against the limit.'),
    }),
    description,
  )

/** GET /usage/history; not part of the hosted API. */
export const UsageHistory = object('Usage of the team by day and month.', {
  object: kind('usage_history'),
  days: periods('The last 30 days, oldest first.', '2026-11-20'),
  months: periods('The last 12 months, oldest first.', '2026-11'),
})
export type UsageHistory = Static<typeof UsageHistory>

const operation = operationsIn('Usage')

export const getUsage = operation('GET /usage', {
  access: 'sending',
  summary: 'Get usage of the current day and month',
  response: { 200: Usage },
})
export const getUsageHistory = operation('GET /usage/history', {
  summary: 'Get usage of the last 30 days and 12 months',
  description: 'Recipients that count against the plan, by day and month in UTC. Not part of the hosted API.',
  response: { 200: UsageHistory },
})

/** The data of GET /usage. */
export interface UsageFacts {
  plan: Plan
  usage: StoredUsage
  ends: PeriodEnds
  domains: number
  /** The team's rate limit, in requests per second. */
  perSecond: number
  now: number
}

/** Means "no limit" because the wire format has no null here. Comparisons still work. */
const UNBOUNDED = Number.MAX_SAFE_INTEGER

/** Formats the response of GET /usage. Features that this version lacks have a usage of 0. */
export function presentUsage({ plan, usage, ends, domains, perSecond, now }: UsageFacts): Usage {
  const [day, month] = [timestamp(ends.day), timestamp(ends.month)]
  const sent = (used: number) => ({ used, sent: used, received: 0 })
  return {
    object: 'usage',
    generated_at: timestamp(now),
    emails: {
      daily: { ...sent(usage.daily), limit: plan.daily, resets_at: day },
      monthly: { ...sent(usage.monthly), limit: plan.monthly ?? UNBOUNDED, resets_at: month },
    },
    contacts: { used: 0, limit: UNBOUNDED },
    segments: { used: 0, limit: null },
    broadcasts: { used: 0, limit: null },
    ai_credits: { used: 0, limit: null, next_increase_at: null },
    automation_runs: { used: 0, limit: UNBOUNDED, resets_at: month },
    domains: { used: domains, limit: null },
    rate_limit: { limit: perSecond, duration: '1s' },
  }
}
