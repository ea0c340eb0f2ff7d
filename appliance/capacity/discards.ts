/**
 * What is received only to be thrown away: the rest of requests that were refused. Clients that go on sending it are read slowly, so
 * that they can't use much processor time. Only counts; no I/O.
 */
import { steady, type Clock } from '../clock/clock.ts'

export interface Discards {
  /**
   * Counts octets that were thrown away. Returns a promise when all clients together have sent too many of them lately: read nothing
   * more from this client until it resolves.
   */
  take(octets: number): Promise<void> | undefined
}

/** Octets per millisecond of all clients together: 16 MB a second take a twentieth of a processor. */
const PER_MS = 16 * 1024
/** So many octets are read without a wait: the rest of one or two large requests, whose clients then read why they were refused. */
const BURST = 64 * 1024 * 1024

export function createDiscards(clock: Clock): Discards {
  /** When all that was counted will have been allowed, by the steady clock. */
  let settled = -Infinity
  return {
    take(octets) {
      const now = steady(clock)
      settled = Math.max(settled, now - BURST / PER_MS) + octets / PER_MS
      const wait = settled - now
      if (wait <= 0) return undefined
      return new Promise((resolve) => void clock.after(wait, resolve))
    },
  }
}
