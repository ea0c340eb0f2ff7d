/** How much a team may send, and how much it has sent. */

/** Recipients accepted in the UTC day and month of a moment. */
export interface Usage {
  daily: number
  monthly: number
}

/** Recipients accepted in one UTC day (`2026-11-20`) or month (`2026-11`). */
export interface PeriodUsage {
  period: string
  used: number
}

export interface UsageHistory {
  days: PeriodUsage[]
  months: PeriodUsage[]
}

/** What one `put` must not exceed; every recipient counts, suppressed ones too. */
export interface QuotaLimit {
  teamId: string
  /** Recipients in a UTC day; null for any number. Counted in both cases. */
  daily: number | null
  /** Recipients in a UTC month; null for any number. */
  monthly: number | null
}

export interface QuotaStorage {
  /** The name of the team's plan; undefined when there is no such team. */
  planOf(args: { teamId: string }, now: number): Promise<string | undefined>
  /** False when there is no such team. */
  setPlan(args: { teamId: string; plan: string }, now: number): Promise<boolean>
  /** What was counted in the UTC day and month of `now`. */
  usage(args: { teamId: string }, now: number): Promise<Usage>
  /** What was counted in the newest UTC days and months up to those of `now`, oldest first, also where it was nothing. */
  usageHistory(args: { teamId: string; days: number; months: number }, now: number): Promise<UsageHistory>
}
