import type { Advice, Category, SubType, Phase } from './bounce.ts'
import type { Reply } from './reply.ts'

/** What put an address on the list: a hard bounce, a complaint, or a person. */
export const SUPPRESSION_ORIGINS = ['bounce', 'complaint', 'manual'] as const

export type SuppressionOrigin = (typeof SUPPRESSION_ORIGINS)[number]

// the reply after the final dot

/** Why a delivery is where it is: enough to explain it to a person and to write a bounce report. */
export interface Cause {
  phase: Phase
  /** Mail exchanger concerned, null when none was reached for. */
  host: string | null
  ip: string | null
  /** What the remote server said, null when it was not its word that decided. */
  reply: Reply | null
  /** Enhanced status code (RFC 3463) of what we found ourselves; a reply carries its own. */
  status?: string
  /** What the failure is about; absent where nothing failed, and where people decided. */
  category?: Category
  /** One sentence for people, without the codes. */
  note: string
  /** What the operator can do about it, where the server's words are known to mean that. */
  advice?: Advice
  /** Who ended it, where no attempt did. */
  by?: 'operator' | 'sender' | 'recipient' | 'erasure'
  /** Of a suppressed delivery: what had put the address on the list. */
  origin?: SuppressionOrigin
}

/**
 * What an attempt means for one delivery.
 * `failed` is our own fault or the sender's (no key, forbidden target); `bounced` is the remote's word;
 * `expired` is a deferral that ran out of time. `suppress`: the bounce tells that this recipient's address is dead.
 */
export type Verdict =
  | { kind: 'delivered'; cause: Cause }
  /** `interrupted`: this server stopped during the attempt; nobody hears of it. */
  | { kind: 'deferred'; until: number; cause: Cause; interrupted?: true }
  | { kind: 'bounced'; cause: Cause; subType: SubType; suppress: boolean }
  | { kind: 'expired'; cause: Cause; subType: SubType }
  | { kind: 'failed'; cause: Cause }
  | { kind: 'suppressed'; cause: Cause }

/**
 * Where a delivery is: waiting for its next attempt, held by an operator, or in a final state. `canceled` is the
 * sender's own word, before any attempt.
 */
export type DeliveryState = 'waiting' | 'held' | 'canceled' | Exclude<Verdict['kind'], 'deferred'>

/** The same list at run time, waiting states first. */
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
