import type { Advice, BounceCategory, BounceSubtype, Phase } from './bounce.ts'
import type { Reply } from './reply.ts'

/** Why an address was suppressed: a hard bounce, a complaint, or by hand. */
export const SUPPRESSION_ORIGINS = ['bounce', 'complaint', 'manual'] as const

export type SuppressionOrigin = (typeof SUPPRESSION_ORIGINS)[number]

// The reply after the final dot.

/** Why a delivery is in its state: enough to explain it to people and to write a bounce report. */
export interface Cause {
  phase: Phase
  /** The mail exchanger concerned; null when none was contacted. */
  host: string | null
  ip: string | null
  /** The remote server's reply; null when it didn't decide. */
  reply: Reply | null
  /** Enhanced status code (RFC 3463) of an outcome decided here; a reply has its own. */
  status?: string
  /** The category of the failure; absent when nothing failed, and when a person decided. */
  category?: BounceCategory
  /** A sentence for people, without codes. */
  note: string
  /** Advice for the operator, if there is any for this reply. */
  advice?: Advice
  /** Who ended the delivery, if it wasn't an attempt. */
  by?: 'operator' | 'sender' | 'recipient' | 'erasure'
  /** For a suppressed delivery: why the address was suppressed. */
  origin?: SuppressionOrigin
}

/**
 * The outcome of an attempt for a delivery.
 * `failed` is this server's or the sender's fault (no key, forbidden target); `bounced` is decided by the remote
 * server; `expired` is a deferral whose retry period ended. `suppress`: the bounce shows that this recipient's address
 * doesn't exist.
 */
export type Verdict =
  | { kind: 'delivered'; cause: Cause }
  /** `interrupted`: this server stopped during the attempt; produces no event. */
  | { kind: 'deferred'; until: number; cause: Cause; interrupted?: true }
  | { kind: 'bounced'; cause: Cause; subType: BounceSubtype; suppress: boolean }
  | { kind: 'expired'; cause: Cause; subType: BounceSubtype }
  | { kind: 'failed'; cause: Cause }
  | { kind: 'suppressed'; cause: Cause }

/**
 * A delivery's state: waiting for its next attempt, held by an operator, or final. `canceled` is the sender's decision,
 * before any attempt.
 */
export type DeliveryState = 'waiting' | 'held' | 'canceled' | Exclude<Verdict['kind'], 'deferred'>

/** All delivery states, waiting states first. */
export const DELIVERY_STATES = [
  'waiting',
  'held',
  'delivered',
  'bounced',
  'expired',
  'failed',
  'suppressed',
  'canceled',
] as const satisfies readonly DeliveryState[]

/** The cause of a delivery that was leased by a process that no longer exists. */
export const INTERRUPTED_CAUSE: Cause = {
  phase: 'queue',
  host: null,
  ip: null,
  reply: null,
  note: 'Interrupted by a restart.',
}
