/** How one recipient of an email stands, in one word: the same in the list, the timeline and the queue. Pure. */
import type { DeliveryState } from './verdict.ts'

/** Failures first: the order in which a summary names them. */
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

/** How many recipients of an email have each status; those that nobody has are absent. */
export type RecipientCounts = Partial<Record<RecipientStatus, number>>

/** What is known of a recipient. */
export interface Standing {
  state: DeliveryState
  /** Attempts so far, the one that is under way included. */
  attempts: number
  /** An attempt has ended, or something else has decided. */
  heard: boolean
  /** The sender chose a time, and nobody was tried before it. */
  scheduled: boolean
  /** The recipient reported the message as spam. */
  complained: boolean
}

/** A waiting recipient is scheduled or queued before the first attempt, sent during it, and delayed after it. */
export function recipientStatus({
  state,
  attempts,
  heard,
  scheduled,
  complained,
}: Standing): RecipientStatus {
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
