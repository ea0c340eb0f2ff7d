/**
 * Limits how fast the rest of refused requests is read and discarded. Clients that keep sending are read slowly, so
 * that they can't use much CPU time. Only counts; no I/O.
 */
import { getSteadyTime, type Clock } from '../clock/clock.ts'

export interface DiscardThrottle {
  /**
   * Counts discarded octets. Returns a promise when all clients together have sent too many recently; don't read from
   * this client until it resolves.
   */
  take(octets: number): Promise<void> | undefined
}

/** Maximum rate for all clients together, in octets per millisecond. 16 MB/s takes about 5% of a core. */
const PER_MS = 16 * 1024
/**
 * Number of octets that are read without delay: enough for the rest of one or two large requests, whose clients can
 * then read why they were refused.
 */
const BURST = 64 * 1024 * 1024

export function createDiscardThrottle(clock: Clock): DiscardThrottle {
  /** Steady-clock time at which everything counted so far is within the rate. */
  let settled = -Infinity
  return {
    take(octets) {
      const now = getSteadyTime(clock)
      settled = Math.max(settled, now - BURST / PER_MS) + octets / PER_MS
      const wait = settled - now
      if (wait <= 0) return undefined
      return new Promise((resolve) => void clock.after(wait, resolve))
    },
  }
}
