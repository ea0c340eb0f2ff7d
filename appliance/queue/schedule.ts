/**
 * The retry schedule of deferred deliveries, and when they expire (RFC 5321 §4.5.4.1: at least 30 minutes between
 * retries after the first attempts failed, giving up after 4–5 days).
 */
import { LOST_MS } from '../mail/node.ts'
import { INTERRUPTED } from '../mail/verdict.ts'
import type { FreeLeasesArgs } from '../storage/storage.ts'

const minute = 60_000
const hour = 60 * minute

/** Milliseconds from one attempt to the next: after the first, the second, …; the last entry repeats. */
export const RETRY_DELAYS: readonly number[] = [
  minute,
  5 * minute,
  10 * minute,
  20 * minute,
  40 * minute,
  hour,
  2 * hour,
  4 * hour,
  6 * hour,
]

/** The retry period, from acceptance or the scheduled time, in milliseconds. */
export const LIFETIME = 96 * hour

/**
 * Milliseconds until the next attempt after a restart interrupted the first one. Later attempts keep their times, so
 * that a daemon that is killed repeatedly doesn't send the same message each time.
 */
export const INTERRUPTED_DELAY = 10_000

/**
 * Returns how leases of a node that stopped, or was lost, are freed.
 * @param now Unix milliseconds, by the clock of deliveries
 */
export const freeLeasesArgs = (now: number): FreeLeasesArgs => ({
  lostAfter: LOST_MS,
  cause: INTERRUPTED,
  firstDueAt: now + INTERRUPTED_DELAY,
})

/**
 * How long a delivery is queued before its sender gets a delay report: longer than greylisting or a restart, short
 * enough for a person to act on the same day.
 */
export const DELAY_REPORT_AFTER = 4 * hour

/** Random part added to a delay, up to this fraction, so that mail deferred together isn't retried together. */
const JITTER = 0.2

/**
 * Fraction of a delay if a server only had too many connections: it has not seen the message, and a connection is soon
 * free.
 */
const CROWDED_SHARE = 1 / 12

/**
 * Returns when to retry after `attempts` attempts.
 * @param random a number in [0, 1)
 * @param crowded whether the attempt failed because the server had too many connections
 * @returns Unix milliseconds
 */
export function nextAttemptAt(attempts: number, now: number, random: number, crowded = false): number {
  const delay = RETRY_DELAYS[Math.min(attempts, RETRY_DELAYS.length) - 1] ?? RETRY_DELAYS[0]!
  return Math.round(now + delay * (crowded ? CROWDED_SHARE : 1) * (1 + JITTER * random))
}
