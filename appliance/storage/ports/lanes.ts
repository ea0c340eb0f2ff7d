/** What the lanes must not forget when the daemon restarts, and what people set and see of them. */

/** The state of one lane, as it was last saved. */
export interface LaneRecord {
  /** The source IP, or `auto` where the system chooses it. */
  source: string
  provider: string
  /** JSON; what is in it only the lanes know. */
  state: string
  /** Nothing leaves before this time; null when it is not paused. */
  pausedUntil: number | null
  /** Why it is as it is, in a sentence; null when nothing happened yet. */
  reason: string | null
  reasonAt: number | null
  updatedAt: number
}

/** What somebody set for one provider. */
export interface ProviderSettings {
  provider: string
  settings: Record<string, unknown>
  updatedAt: number
}

/** What one lane did on one day: attempts of deliveries, and how they ended. */
export interface LaneDay {
  source: string
  provider: string
  /** `YYYY-MM-DD` in UTC. */
  day: string
  sent: number
  delivered: number
  deferred: number
  bounced: number
}

export interface LaneStorage {
  /** Each record takes the place of the one with the same source and provider. */
  saveLanes(args: { lanes: LaneRecord[] }, now: number): Promise<void>
  /** By source and provider. */
  listLanes(args: object, now: number): Promise<LaneRecord[]>
  /** Null ends what was set for the provider. */
  saveProviderSettings(
    args: { provider: string; settings: Record<string, unknown> | null },
    now: number,
  ): Promise<void>
  /** By provider. */
  listProviderSettings(args: object, now: number): Promise<ProviderSettings[]>
  /** Adds the numbers to those that are there. */
  addLaneDays(args: { days: LaneDay[] }, now: number): Promise<void>
  /** From that day on (`YYYY-MM-DD`), by day, source and provider. */
  listLaneDays(args: { since: string }, now: number): Promise<LaneDay[]>
}
