/** What waits: leases, their end, and the operator's hand on the queue. */
import type { EnvelopeDsn, RecipientDsn, ReportKind } from '../../mail/dsn.ts'
import type { EmailEventType, EventData } from '../../mail/event.ts'
import type { RequireTls } from '../../mail/require-tls.ts'
import type { Cause, DeliveryState } from '../../mail/verdict.ts'
import type { Attempt, Delivery } from './emails.ts'

/** A delivery that the caller owns until `leaseUntil`. */
export interface LeasedDelivery {
  id: string
  teamId: string
  emailId: string
  domainId: string
  recipient: string
  lane: string
  /** Attempts including the one that begins now. */
  attempts: number
  createdAt: number
  expiresAt: number
  leaseUntil: number
  /** Empty for a report. */
  returnPath: string
  /** The time that its sender chose, or null: what its Date field must say. */
  scheduledAt: number | null
  /** Who is sent reports; null: nobody. */
  reportTo: string | null
  /** What the sender said of reports, of the message and of this recipient. */
  dsn: EnvelopeDsn & RecipientDsn
  /** What the sender said of encryption on the way (RFC 8689). */
  requireTls: RequireTls
}

export interface LeaseArgs {
  /** Names the process start that leases; `settle` must show the same. */
  owner: string
  /** At most this many deliveries. */
  limit: number
  /** At most this many from one lane. */
  perLane: number
  /** Lanes that have no room at the moment. */
  fullLanes: string[]
  /** When the lease ends, should the owner vanish without a word (Unix milliseconds). */
  leaseUntil: number
  /**
   * Milliseconds to the next attempt after the first, second, … one; the last entry repeats. Set before anyone dials,
   * so that a process that dies in every attempt still keeps to the schedule.
   */
  retryDelays: readonly number[]
}

/** What becomes of one leased delivery. */
export interface Change {
  deliveryId: string
  state: DeliveryState
  /** The next time, for `waiting`; ignored otherwise. */
  dueAt: number | null
  cause: Cause
  event: { id: string; type: EmailEventType; data: EventData } | null
  /** A report that is due from now on; one that was due before is not due again. */
  report: ReportKind | null
}

export interface SettleArgs {
  owner: string
  attempt: Attempt | null
  changes: Change[]
}

/** Which waiting deliveries are meant; all given conditions must hold. None given means all. */
export interface QueueFilter {
  teamId?: string | undefined
  deliveryId?: string | undefined
  emailId?: string | undefined
  /** Recipient domain. */
  domain?: string | undefined
  state?: 'waiting' | 'held' | undefined
}

export interface QueueSummary {
  waiting: number
  held: number
  /** Leased now. */
  inFlight: number
  /** Creation of the oldest waiting delivery. */
  oldestAt: number | null
}

export interface SpoolStorage {
  /**
   * Takes due deliveries, oldest first; several recipients of one email in one lane come together where the limits allow.
   * Counts the attempt and sets the next time before anyone dials. Records `email.sent` for an email that is tried for the first time.
   */
  lease(args: LeaseArgs, now: number): Promise<LeasedDelivery[]>
  /** Ends leases; changes of deliveries that the owner no longer leases are not made and their ids returned. */
  settle(args: SettleArgs, now: number): Promise<{ lost: string[] }>
  /** Gives back leased deliveries as if never taken: due at once, the attempt uncounted. For a clean stop. */
  unlease(args: { owner: string; deliveryIds: string[] }, now: number): Promise<void>
  /** Voids the leases of every other owner: their process is gone. The deliveries wait for the time that `lease` wrote. Returns how many. */
  voidLeases(args: { owner: string }, now: number): Promise<number>
  /** When the next unheld, unleased delivery is due; undefined when none waits. */
  nextDue(args: { fullLanes: string[] }, now: number): Promise<number | undefined>

  queueSummary(args: { teamId?: string | undefined }, now: number): Promise<QueueSummary>
  listQueue(args: QueueFilter & { limit: number }, now: number): Promise<Delivery[]>
  /** Stops further attempts until released; those in flight finish. Returns how many. */
  holdQueue(args: QueueFilter, now: number): Promise<number>
  releaseQueue(args: QueueFilter, now: number): Promise<number>
  /** Makes waiting deliveries due now. */
  retryQueue(args: QueueFilter, now: number): Promise<number>
  /** Gives waiting or held deliveries up: state `failed`, event `email.failed`. Those in flight are left alone. */
  dropQueue(args: QueueFilter, now: number): Promise<number>
}
