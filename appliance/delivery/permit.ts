import type { AddressFamily, PoolFilter, Source } from '../mail/source.ts'
import type { Limits, Signal } from '../shaping/shaping.ts'

/** A request for a permit. */
export interface PermitRequest {
  pool: string
  provider: string
  recipients: number
  /** Families of the IPs that could be contacted. */
  families: readonly AddressFamily[]
}

/** Permission to send one message. */
export interface Permit {
  kind: 'permit'
  source: Source
  /** Number of recipients that the permit covers: all requested, or what is left of a warm-up's daily limit. */
  recipients: number
  /** The lane, and the number of connections that it may have open now. */
  lane: { readonly key: string; readonly connections: number }
  limits: Limits
  /**
   * Returns how many milliseconds to wait before MAIL; 0 means now, and counts a message. Null means that the message
   * must be admitted again.
   */
  mailTurn: () => number | null
  /**
   * Requests another message to further recipients of the same email on the same connection; false when it must wait
   * for a permit of its own.
   */
  another(): boolean
  /** Returns the connection, with the signals for the lane. The next message may use the connection. */
  release(signals: Omit<Signal, 'since'>[]): void
  /**
   * Marks the result as stored, or as one that will never be stored. Returns true when the lane lacked capacity because
   * of it.
   */
  settled(): boolean
}

/**
 * full: the destination is closed, and its mail waits in the queue until it opens; `retryAt` is set when this message
 * can't use the capacity there is, and must not be leased again at once.
 * busy: only connections are lacking; `wait` for one.
 */
export type PermitDecision = Permit | { kind: 'full'; retryAt: number | null } | { kind: 'busy' }

/** The deliveries that may be leased now. */
export interface LeaseCapacity {
  /** Capacity by destination; destinations that aren't listed are unlimited. */
  room: Record<string, number>
  /** Destinations without capacity. */
  closed: string[]
  /** When the first closed destination opens by itself. */
  opensAt: number | null
  /** Pools that have sources on this node; undefined for all pools. */
  pools?: PoolFilter | undefined
}
