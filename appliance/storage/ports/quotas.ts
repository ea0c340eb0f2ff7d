/** How much a team may send, and how much it has sent. */

/** Recipients accepted in the UTC day and month of a moment. */
export interface Usage {
  daily: number
  monthly: number
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
}
