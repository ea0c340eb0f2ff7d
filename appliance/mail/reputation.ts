/** The reputation of a domain: daily results of its mail, and a timeline of changes. Pure. */
import type { ProviderRules } from './provider-rules.ts'

/** Results of deliveries. */
export interface ReputationCounts {
  delivered: number
  bounced: number
  /** Failed attempts that were repeated later. */
  deferred: number
  /** Emails that their readers reported as spam. */
  complained: number
}

export interface ReputationDay extends ReputationCounts {
  /** YYYY-MM-DD, UTC. */
  date: string
}

/** A point on the timeline. */
export interface ReputationChange {
  /** Unix milliseconds. */
  at: number
  /** dns: the status of a record changed. setting: a change in the audit log. volume: far more mail than usual. */
  kind: 'dns' | 'setting' | 'volume'
  /** A sentence without a full stop. */
  note: string
}

/** How close the complaints are to the limit of one provider. */
export interface ComplaintLimit {
  /** `RulesProvider.id` and name of the provider. */
  provider: string
  name: string
  /** Share of delivered emails, from 0 to 1. */
  limit: number
  /** near: at least a third of the limit. */
  state: 'ok' | 'near' | 'over'
}

/** Minimum number of complaints, as in the provider rules; fewer are not significant. */
const LEAST_COMPLAINTS = 4
/** Share of the limit from which complaints are near it. Gmail allows 0.3% and advises to stay below 0.1%. */
const NEAR = 1 / 3

/** Returns the share of delivered emails that were reported as spam, from 0 to 1. */
export const computeComplaintRate = ({
  delivered,
  complained,
}: Pick<ReputationCounts, 'delivered' | 'complained'>): number =>
  delivered === 0 ? 0 : complained / delivered

/** Compares complaints with the limit of each provider that has one. */
export function computeComplaintLimits(
  counts: Pick<ReputationCounts, 'delivered' | 'complained'>,
  { providers, rules }: ProviderRules,
): ComplaintLimit[] {
  const rate = counts.complained < LEAST_COMPLAINTS ? 0 : computeComplaintRate(counts)
  return providers.flatMap(({ id: provider, name }) => {
    const limits = rules.flatMap((rule) =>
      rule.provider === provider && rule.limit !== null ? [rule.limit] : [],
    )
    if (limits.length === 0) return []
    const limit = Math.min(...limits)
    const state = rate >= limit ? 'over' : rate >= limit * NEAR ? 'near' : 'ok'
    return [{ provider, name, limit, state }]
  })
}

/** Minimum size of a jump: as a multiple of the usual volume, and in emails. */
const JUMP = 3
const LEAST_JUMP = 1000
/** Number of previous days that determine the usual volume. */
const USUAL_DAYS = 7

/**
 * Finds the days with far more mail than the median of the previous seven days.
 * @param days without gaps, oldest first
 */
export function findVolumeChanges(days: readonly ReputationDay[]): ReputationChange[] {
  const volumes = days.map(({ delivered, bounced }) => delivered + bounced)
  return days.slice(USUAL_DAYS).flatMap(({ date }, n) => {
    const volume = volumes[n + USUAL_DAYS]!
    const usual = volumes.slice(n, n + USUAL_DAYS).toSorted((a, b) => a - b)[Math.floor(USUAL_DAYS / 2)]!
    if (volume < LEAST_JUMP || volume < JUMP * usual) return []
    const compared = usual === 0 ? 'after days with none' : `${(volume / usual).toFixed(1)} times the usual`
    return [
      {
        at: Date.parse(date),
        kind: 'volume' as const,
        note: `${volume.toLocaleString('en')} emails, ${compared}`,
      },
    ]
  })
}

const RECORD_WORDS: Readonly<Record<string, string>> = {
  verified: 'was found in DNS',
  failed: 'was found to be wrong',
  pending: 'was found to be missing',
}

/** Returns when each record got its current status, if that was at or after `since` (Unix milliseconds). */
export function findRecordChanges(
  checks: readonly { key: string; status: string; since: number }[],
  since: number,
): ReputationChange[] {
  return checks.flatMap(({ key, status, since: at }) => {
    const words = RECORD_WORDS[status]
    if (at < since || words === undefined) return []
    return [{ at, kind: 'dns' as const, note: `The ${key} record ${words}` }]
  })
}

const COUNTS = ['delivered', 'bounced', 'deferred', 'complained'] as const

/** Adds counts. */
export function sumCounts(all: readonly ReputationCounts[]): ReputationCounts {
  const sum = { delivered: 0, bounced: 0, deferred: 0, complained: 0 }
  for (const one of all) for (const name of COUNTS) sum[name] += one[name]
  return sum
}

const DAY = 86_400_000

/** Returns the start of each of the last UTC days up to that of `now`, oldest first (Unix milliseconds). */
export function listDays(now: number, count: number): number[] {
  const today = Math.floor(now / DAY) * DAY
  return Array.from({ length: count }, (_, n) => today - (count - 1 - n) * DAY)
}

/** Formats the day that begins at a time: YYYY-MM-DD. */
export const formatDay = (start: number): string => new Date(start).toISOString().slice(0, 10)
