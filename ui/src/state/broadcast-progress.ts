/** Calculates the progress of a broadcast. */
import type { BroadcastSummary } from '../../../appliance/api/broadcasts.ts'

/** Results of the emails of a broadcast. */
export interface Progress {
  recipients: number
  /** Number of emails that were attempted at least once, or are final. */
  tried: number
  delivered: number
  /** Recipients. */
  opened: number
  clicked: number
  unsubscribed: number
  bounced: number
  complained: number
}

/** Last events of emails before their first attempt. */
const WAITING = ['queued', 'scheduled']
/** Last events of emails that were delivered. */
const RECEIVED = ['delivered', 'opened', 'clicked', 'complained']

/** Calculates the progress from the last events of the emails. Suppressed recipients don't count as emails. */
export function computeProgress({
  recipients,
  counts,
  opened,
  clicked,
  unsubscribed,
}: Pick<BroadcastSummary, 'recipients' | 'counts' | 'opened' | 'clicked' | 'unsubscribed'>): Progress {
  const sum = (events: readonly string[]) => events.reduce((all, event) => all + (counts[event] ?? 0), 0)
  const suppressed = sum(['suppressed'])
  const emails = sum(Object.keys(counts)) - suppressed
  return {
    recipients: Math.max(recipients - suppressed, emails),
    tried: emails - sum(WAITING),
    delivered: sum(RECEIVED),
    opened,
    clicked,
    unsubscribed,
    bounced: sum(['bounced']),
    complained: sum(['complained']),
  }
}

/** Number of emails that had been attempted by a given time (Unix milliseconds). */
export interface Sample {
  at: number
  tried: number
}
/** How long samples are kept, and the shortest time from which a rate is calculated, in milliseconds. */
const KEPT_MS = 60_000
const LEAST_MS = 10_000

/** Adds a sample, and drops outdated ones. */
export const addSample = (samples: readonly Sample[], last: Sample): Sample[] => [
  ...samples.filter(({ at }) => last.at - at < KEPT_MS),
  last,
]

/** Calculates emails per minute since the oldest sample; null if the time is too short, or if nothing is being sent. */
export function computeRate(samples: readonly Sample[], now: number): number | null {
  const [first, last] = [samples[0], samples.at(-1)]
  if (!first || !last || now - first.at < LEAST_MS) return null
  const rate = ((last.tried - first.tried) * 60_000) / (now - first.at)
  return rate > 0 ? rate : null
}

/** The complaint rate that mailbox providers tolerate. */
export const COMPLAINT_LIMIT = 0.001

/** Formats a share as `12%`, with a decimal below 10% and two below 1%; `–` if the whole is 0. */
export function formatPercent(part: number, whole: number): string {
  if (whole === 0) return '–'
  const share = (100 * part) / whole
  if (share >= 10) return `${Math.round(share)}%`
  return `${Number(share.toFixed(share < 1 ? 2 : 1))}%`
}

/** Formats a share of a whole as `12% of sent`; empty if the whole is 0. */
export const formatShare = (part: number, whole: number, name: string): string =>
  whole === 0 ? '' : `${formatPercent(part, whole)} of ${name}`
