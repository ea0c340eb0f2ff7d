/** The interface of the dispatcher, and its dependencies. */
import type { Clock } from '../clock/clock.ts'
import type { LeasedDelivery, Storage } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import type { AttemptResult } from './attempt.ts'
import type { Lanes } from './lanes.ts'
import type { LeaseStorage } from './recovery.ts'

/**
 * Leases due deliveries, passes them to attempts, and settles the results.
 *
 * 1. Wakes for an accepted email, the time of the next due delivery, a lane with new capacity, or a poll (other
 *    processes write to the queue, too).
 * 2. Leases as much as there is capacity for. For each destination, that is what its lanes accept now, plus a few
 *    deliveries if connections are about to be free. So no destination blocks another.
 * 3. Up to a hundred deliveries of one email to one domain share one conversation and one body. Capacity is counted in
 *    these batches.
 * 4. Settles the result, or returns deliveries that got no capacity after all. Meanwhile the next message uses the
 *    connection. The lane limits the number of messages not settled yet, which would be sent again after a crash.
 *
 * The dispatcher never interprets results, and holds no transaction during an attempt.
 */
export interface Dispatcher {
  /** Starts, after voiding the leases of earlier runs of this node. */
  start(): Promise<void>
  /** Checks for due deliveries now. */
  wake(): void
  /** Rereads sources, settings and lanes now. */
  changed(): void
  /**
   * Leases nothing new and waits at most `ms` milliseconds for attempts in flight. Then destroys the sockets of the
   * rest and settles their results. Returns how many attempts were interrupted. Afterwards, nothing is stored or
   * logged.
   */
  stop(ms: number): Promise<number>
}

export interface DispatchDeps {
  storage: Pick<Storage, 'settle' | 'nextDue'> & LeaseStorage
  lanes: Pick<Lanes, 'refresh' | 'room' | 'reserve' | 'isLow' | 'dismiss'>
  clock: Clock
  log: Logger
  /** Identifies this run of the process in leases (`formatOwner` in mail/ids.ts). */
  owner: string
  /**
   * Attempts to deliver a batch.
   * @param placed call when the batch has a permit, or needs none
   */
  attempt: (batch: LeasedDelivery[], placed: () => void) => Promise<AttemptResult>
  /** Destroys the sockets of attempts in flight, so that they end. */
  abandon: () => void
  /** Why this node must not begin deliveries; null when it may. */
  fenced?: (() => string | null) | undefined
  /** Called when a report to a sender is due. */
  onReportDue?: (() => void) | undefined
  maxConnections: number
  /** How often to look for changes by other processes (`posthaste queue retry`), in milliseconds. */
  pollMs: number
}
