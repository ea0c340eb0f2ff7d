/** A team's usage of its quota, and the refusal when it is exhausted. */
import type { Clock } from '../clock/clock.ts'
import { Refusal } from '../mail/refusals.ts'
import { computePeriodEnds, type Quotas } from '../senders/senders.ts'
import type { PutResult, QuotaLimit, Storage, Usage } from '../storage/storage.ts'

/** Emails of the current day and month; `daily` is null if the plan has no daily limit. */
export interface QuotaUsage {
  daily: number | null
  monthly: number
}

export interface QuotaDeps {
  storage: Pick<Storage, 'usage'>
  quotas: Pick<Quotas, 'limitOf'>
  clock: Clock
}

export async function loadQuotaUsage(
  { storage, quotas, clock }: QuotaDeps,
  teamId: string,
): Promise<QuotaUsage> {
  const usage = await storage.usage({ teamId }, clock.now())
  return toQuotaUsage(await quotas.limitOf(teamId), usage)
}

export function toQuotaUsage({ daily }: QuotaLimit, usage: Usage | null): QuotaUsage {
  return { daily: daily === null ? null : (usage?.daily ?? 0), monthly: usage?.monthly ?? 0 }
}

/** Refuses further mail in this period, with the team's usage. */
export class QuotaRefusal extends Refusal {
  readonly used: QuotaUsage

  constructor(period: Extract<PutResult, { kind: 'over_quota' }>['period'], now: number, used: QuotaUsage) {
    const { day, month } = computePeriodEnds(now)
    const ends = period === 'daily' ? day : month
    super(`${period}_quota_exceeded`, { seconds: Math.ceil((ends - now) / 1000) })
    this.used = used
  }
}
