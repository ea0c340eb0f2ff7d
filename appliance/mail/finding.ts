/** Results of a self-check, in words for people. Types only. */

/**
 * failed: mail is affected now · warning: mail may be affected · skipped: it couldn't be checked, and `found` says why.
 */
export const FINDING_STATUSES = ['failed', 'warning', 'skipped', 'ok'] as const
export type FindingStatus = (typeof FINDING_STATUSES)[number]

/** Prefix of the ids of findings about other teams than the operator's. */
export const OTHER_TEAMS = 'other-team:'

/** The result of one check. */
export interface Finding {
  /** Identifies the check for programs: `port25`, `blocklist:zen.spamhaus.org`. */
  id: string
  /** What was checked: `Outbound port 25 from 192.0.2.1`. */
  title: string
  status: FindingStatus
  /** What was found, in whole sentences. */
  found: string
  /** How to fix the problem; null if nothing needs to be done. */
  advice: string | null
}
