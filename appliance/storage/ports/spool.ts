/** What waits: leases, their end, and the operator's hand on the queue. */
import type { Category } from '../../mail/bounce.ts'
import type { EnvelopeDsn, RecipientDsn, ReportKind } from '../../mail/dsn.ts'
import type { EmailEventType, EventData } from '../../mail/event.ts'
import type { Stream } from '../../mail/queue.ts'
import type { QueueAction } from '../../mail/queue-action.ts'
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
  /** The recipient's domain in A-labels, lower case. */
  domain: string
  /** Where it waited: `unplaced(domain)` when no attempt has looked the domain up yet. */
  pool: string
  provider: string
  stream: Stream
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
  /** When it was due, before this lease set the next time. */
  dueAt: number
  /** When an operator held or released it last; null: never, or it was re-routed as well. */
  touchedAt: number | null
}

export interface LeaseArgs {
  /** Names the process start that leases; `settle` must show the same. */
  owner: string
  /** At most this many messages: the recipients of one email in one domain and queue share one. */
  limit: number
  /** Messages that a destination (`destinationOf`) may take now; 0 closes it. */
  room: Record<string, number>
  /** The same for every destination that `room` does not name. */
  roomElse: number
  /** Recipients of one message at most, `MOST_RECIPIENTS` by default. More of them are another message. */
  recipients?: number | undefined
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
  /** Of a delivered one whose recipient complains at once, as a test address does: who told us, in a sentence. */
  complaint?: string
  /** A report that is due from now on; one that was due before is not due again. */
  report: ReportKind | null
}

export interface SettleArgs {
  owner: string
  attempt: Attempt | null
  changes: Change[]
}

/** A tag of emails; without a value, any. */
export interface TagFilter {
  name: string
  value: string | null
}

/** Which waiting deliveries are meant; all given conditions must hold. None given means all. */
export interface QueueFilter {
  teamId?: string | undefined
  deliveryIds?: readonly string[] | undefined
  emailId?: string | undefined
  /** Recipient domain. */
  domain?: string | undefined
  /** `?`: domains that were never looked up. */
  provider?: string | undefined
  pool?: string | undefined
  stream?: Stream | undefined
  tag?: TagFilter | undefined
  state?: 'waiting' | 'held' | undefined
  /** Accepted before, or at and after, these instants (Unix milliseconds). */
  createdBefore?: number | undefined
  createdFrom?: number | undefined
  /** Words in the reply or the sentence that the last attempt ended with, in any case. */
  reply?: string | undefined
  category?: Category | undefined
  /** The source of the last attempt. */
  source?: string | undefined
  /** Last held, released or re-routed by this audit entry. */
  touchedBy?: string | undefined
  /** Not what an act upon the whole appliance held, released or re-routed last. */
  notOfOperator?: true | undefined
  /** Only those that this would change. */
  touch?: { action: QueueAction; pool?: string | undefined } | undefined
}

/** Deliveries of one kind, counted. */
export interface SurveyGroup {
  teamId: string
  pool: string
  provider: string
  domain: string
  /** Each delivery is one of the three: in flight, else held, else waiting. */
  state: 'waiting' | 'held' | 'in_flight'
  /** How many of them are due later, and when the first of these is; null: none. */
  later: number
  nextAt: number | null
  /** The oldest of them, of those that were attempted and wait where there are any. */
  sampleId: string
  /** How many of `AGE_BANDS` it has reached. */
  band: number
  count: number
  oldestAt: number
  newestAt: number
  /** The oldest that was tried or is due; null where all wait for the time that their sender wanted. */
  oldestBegunAt: number | null
}

/** Holds new mail that meets all of its conditions, those that are not null. */
export interface HoldRule {
  /** That of the audit entry which made it. */
  id: string
  teamId: string | null
  domain: string | null
  /** Mail to a domain that was never looked up is held when its provider is known: the first attempt may be on its way by then. */
  provider: string | null
  tag: TagFilter | null
  createdAt: number
}

/**
 * A change of many deliveries is made in steps, so that the writer is never held for long: each step looks at the next
 * `limit` deliveries in the order of their ids, and `every` (storage.ts) takes one after the other.
 */
export interface StepArgs {
  /** Deliveries to look at. Default 2000: some 30 ms of the writer. */
  limit?: number | undefined
  /** Where the step before ended; nothing begins at the start. */
  after?: string | undefined
}

/** What a change is about, and the audit entry that it is written down in. */
export type QueueChangeArgs = QueueFilter & StepArgs & { by?: string | undefined }

/** How far a step came. */
export interface Step {
  /** Deliveries that were changed. */
  count: number
  /** Where the next step begins; null when there is none. */
  next: string | null
}

export interface SpoolStorage {
  /**
   * Takes due deliveries. Destinations take turns, the one that waits longest first. Within a destination transactional
   * mail goes first, but of ten places broadcast mail gets one where both are due; in each stream the teams share equally,
   * counted in deliveries, oldest first within a team. The recipients of one email in one domain come together, next to each
   * other. May take less than there is room for when messages have many recipients: ask until nothing comes.
   * Counts the attempt and sets the next time before anyone dials. A delivery whose address is on the suppression list by now ends here instead:
   * state and event `suppressed`. Records `email.sent` for an email that is tried for the first time.
   */
  lease(args: LeaseArgs, now: number): Promise<LeasedDelivery[]>
  /** Ends leases; changes of deliveries that the owner no longer leases are not made and their ids returned. */
  settle(args: SettleArgs, now: number): Promise<{ lost: string[] }>
  /**
   * Gives back leased deliveries as if never taken, the attempt uncounted: due at `dueAt`, or at once. For a clean stop, and
   * for a lane that has no room after all.
   */
  unlease(
    args: { owner: string; deliveryIds: string[]; dueAt?: number | undefined },
    now: number,
  ): Promise<void>
  /**
   * Voids the leases of every other owner: their process is gone. The deliveries get the cause and wait for the time that `lease` wrote, those
   * that were tried once for `firstDueAt` if that is sooner. Returns how many.
   */
  voidLeases(args: { owner: string; cause: Cause; firstDueAt: number }, now: number): Promise<number>
  /**
   * When the next unheld, unleased delivery is due, but for destinations that are closed; undefined when none waits. Where
   * closed destinations hide too many queues to ask them all, it is a time soon: to look again then.
   */
  nextDue(args: { closed: string[] }, now: number): Promise<number | undefined>
  /**
   * Remembers the provider of a domain for the emails to come, and moves what waits for the domain to its queue, in steps:
   * repeat with `after` until `next` is null. Leases stay as they are. When the steps are not ended, nothing is lost: what
   * was not moved goes on waiting where it is.
   */
  place(args: { domain: string; provider: string } & StepArgs, now: number): Promise<Step>

  /** Counts what a filter names, in steps. The sum of all steps is of no single instant. */
  surveyQueue(
    args: QueueFilter & StepArgs,
    now: number,
  ): Promise<{ groups: SurveyGroup[]; next: string | null }>
  /** At most `limit` deliveries, oldest first; `next` is where to go on looking, even when a step found fewer. */
  listQueue(
    args: QueueFilter & { limit: number; after?: string | undefined },
    now: number,
  ): Promise<{ items: Delivery[]; next: string | null }>
  /** Stops further attempts until released; those in flight finish. `by`, here and below: the audit entry. */
  holdQueue(args: QueueChangeArgs, now: number): Promise<Step>
  releaseQueue(args: QueueChangeArgs, now: number): Promise<Step>
  /** Makes waiting deliveries due now. */
  retryQueue(args: QueueFilter & StepArgs, now: number): Promise<Step>
  /** Lets the next attempt leave from another pool; null: from the one before the last re-route. */
  rerouteQueue(args: QueueChangeArgs & { to: string | null }, now: number): Promise<Step>
  /** Gives waiting or held deliveries up: state `failed`, event `email.failed`. Those in flight are left alone. */
  dropQueue(args: QueueFilter & StepArgs, now: number): Promise<Step>
  /** The same as if their time were over: state `expired`, event `email.bounced`. */
  expireQueue(args: QueueFilter & StepArgs, now: number): Promise<Step>

  /** False when there are `most` rules already. */
  addHoldRule(args: { rule: HoldRule; most: number }, now: number): Promise<boolean>
  /** Those of a team, or all; oldest first. */
  listHoldRules(args: { teamId?: string | undefined }, now: number): Promise<HoldRule[]>
  /** False when there is none. What it held stays held. */
  removeHoldRule(args: { id: string }, now: number): Promise<boolean>
}
