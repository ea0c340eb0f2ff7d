import { Type, type Static } from 'typebox'
import { Nullable, Timestamp } from './shared.ts'

const Count = Type.Integer({ minimum: 0 })

const period = (limit: typeof Count | ReturnType<typeof Nullable<typeof Count>>) =>
  Type.Object({
    used: Count,
    limit,
    sent: Count,
    received: Count,
    resets_at: Timestamp,
  })

/** GET /usage (reference: wire format §2.14): what a team has used of its plan. Days and months are those of UTC. */
export const Usage = Type.Object({
  object: Type.Literal('usage'),
  generated_at: Timestamp,
  emails: Type.Object({
    daily: period(Nullable(Count)),
    /** Clients of the hosted service expect a number: the largest safe one stands for no limit. */
    monthly: period(Count),
  }),
  contacts: Type.Object({ used: Count, limit: Count }),
  segments: Type.Object({ used: Count, limit: Nullable(Count) }),
  broadcasts: Type.Object({ used: Count, limit: Type.Null() }),
  ai_credits: Type.Object({ used: Count, limit: Nullable(Count), next_increase_at: Nullable(Timestamp) }),
  automation_runs: Type.Object({ used: Count, limit: Count, resets_at: Timestamp }),
  domains: Type.Object({ used: Count, limit: Nullable(Count) }),
  rate_limit: Type.Object({ limit: Count, duration: Type.String({ examples: ['1s'] }) }),
})
export type Usage = Static<typeof Usage>
