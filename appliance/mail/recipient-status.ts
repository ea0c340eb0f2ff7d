/** The status of a recipient in one word, the same in lists, timeline and queue. Pure. */
import type { DeliveryState } from './verdict.ts'

/** All statuses in the order of a summary, with failures first. */
export const RECIPIENT_STATUSES = [
  'complained',
  'bounced',
  'failed',
  'expired',
  'suppressed',
  'delivered',
  'delayed',
  'held',
  'sent',
  'queued',
  'scheduled',
  'canceled',
] as const
export type RecipientStatus = (typeof RECIPIENT_STATUSES)[number]

/** How many recipients of an email have each status, without zeros. */
export type RecipientCounts = Partial<Record<RecipientStatus, number>>

/** The facts about a recipient. */
export interface RecipientFacts {
  state: DeliveryState
  /** Attempts so far, including one in progress. */
  attempts: number
  /** Whether an attempt has ended, or the outcome was decided in another way. */
  heard: boolean
  /** Whether the email was scheduled, and no attempt was made before its time. */
  scheduled: boolean
  /** Whether the recipient reported the message as spam. */
  complained: boolean
}

/**
 * Derives the status. A queued recipient is scheduled or queued before the first attempt, sent during it, and delayed
 * after it.
 */
export function deriveRecipientStatus({
  state,
  attempts,
  heard,
  scheduled,
  complained,
}: RecipientFacts): RecipientStatus {
  if (complained) return 'complained'
  if (state !== 'waiting') return state
  if (heard) return 'delayed'
  if (attempts > 0) return 'sent'
  return scheduled ? 'scheduled' : 'queued'
}

/** Counts statuses, in the order of `RECIPIENT_STATUSES`. */
export function countStatuses(statuses: readonly RecipientStatus[]): RecipientCounts {
  const counts = RECIPIENT_STATUSES.map((one) => [one, statuses.filter((other) => other === one).length])
  return Object.fromEntries(counts.filter(([, count]) => count !== 0)) as RecipientCounts
}
