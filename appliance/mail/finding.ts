/** What a self-check came to, in words for people. Pure vocabulary. */

/** failed: mail suffers now · warning: mail may suffer · skipped: it could not be told, and `found` says why. */
export const FINDING_STATUSES = ['failed', 'warning', 'skipped', 'ok'] as const
export type FindingStatus = (typeof FINDING_STATUSES)[number]

/** How ids of findings begin that are about what another team has than the one which runs the appliance. */
export const OTHER_TEAMS = 'other-team:'

/** One thing that was looked at. */
export interface Finding {
  /** Names the check for programs: `port25`, `blocklist:zen.spamhaus.org`. */
  id: string
  /** What was looked at: `Outbound port 25 from 192.0.2.1`. */
  title: string
  status: FindingStatus
  /** What was found: whole sentences. */
  found: string
  /** What to do about it; null where nothing is to be done. */
  advice: string | null
}
