import type * as usage from '../http/schemas/usage.ts'
import type { PeriodEnds, Plan } from '../senders/senders.ts'
import type { Usage } from '../storage/storage.ts'
import { timestamp } from '../api/timestamp.ts'

/** All that GET /usage tells about. */
export interface UsageFacts {
  plan: Plan
  usage: Usage
  ends: PeriodEnds
  domains: number
  /** The team's rate limit. */
  perSecond: number
  now: number
}

/** Stands for "no limit" where the wire format knows no null: comparisons with it come out right. */
const UNBOUNDED = Number.MAX_SAFE_INTEGER

/** GET /usage. What this version does not have is used 0 times. */
export function presentUsage({ plan, usage, ends, domains, perSecond, now }: UsageFacts): usage.Usage {
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
