import type { Family, Source } from '../mail/source.ts'
import type { Limits, Signal } from '../shaping/shaping.ts'

/** Who asks for a permit. */
export interface Ask {
  pool: string
  provider: string
  recipients: number
  /** Of the addresses that could be dialled. */
  families: readonly Family[]
}

/** Leave to send one message. */
export interface Permit {
  kind: 'permit'
  source: Source
  /** Recipients that it is for: those asked for, or as many as are left of a warm-up's share of the day. */
  recipients: number
  /** For the connections: whose they are, and how many may be open now. */
  lane: { readonly key: string; readonly connections: number }
  limits: Limits
  /** Milliseconds to wait before MAIL may be said; 0 counts it. Null: the message has to be admitted again. */
  mailTurn: () => number | null
  /** Leave for another message to recipients of the same, over the same connection; false when it has to wait for a permit of its own. */
  another(): boolean
  /** Gives the connection back, with what was learnt: the next message may begin on it. */
  release(signals: Omit<Signal, 'since'>[]): void
  /** Says that the outcome is stored, or that there is none. True when the lane had no room for its sake. */
  settled(): boolean
}

/**
 * full: the destination is closed from now on, and its mail waits in the spool until it opens; `retryAt` is given where its room is of no
 * use to this message, which must not be taken again at once.
 * busy: only connections are wanting; `wait` for one.
 */
export type Admission = Permit | { kind: 'full'; retryAt: number | null } | { kind: 'busy' }

/** What may be leased now. */
export interface Room {
  /** By destination; none of the others is limited. */
  room: Record<string, number>
  /** Destinations without room. */
  closed: string[]
  /** When the first closed destination opens by itself. */
  opensAt: number | null
}
