/**
 * The retry schedule of deferred deliveries, and when they expire (RFC 5321 §4.5.4.1: retry at least 30 minutes apart
 * after the first attempts failed, and give up after 4–5 days).
 */
import { LOST_MS } from '../mail/node.ts'
import { INTERRUPTED_CAUSE } from '../mail/verdict.ts'
import type { FreeLeasesArgs } from '../storage/storage.ts'

const minute = 60_000
const hour = 60 * minute

/** Milliseconds between attempts: after the first, the second, …; the last entry repeats. */
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

/** Length of the retry period, from acceptance or the scheduled time, in milliseconds. */
export const RETRY_PERIOD = 96 * hour

/**
 * Milliseconds until the next attempt after a restart interrupted the first one. Later attempts keep their times, so
 * that a daemon that is killed repeatedly doesn't send the same message each time.
 */
export const INTERRUPTED_DELAY = 10_000

/**
 * Returns the arguments for freeing the leases of a node that stopped or was lost.
 * @param now Unix milliseconds, by the clock of deliveries
 */
export const buildFreeLeasesArgs = (now: number): FreeLeasesArgs => ({
  lostAfter: LOST_MS,
  cause: INTERRUPTED_CAUSE,
  firstDueAt: now + INTERRUPTED_DELAY,
})

/**
 * Time after which the sender of a queued delivery gets a delay report, in milliseconds: longer than greylisting or a
 * restart, but short enough for a person to act on the same day.
 */
export const DELAY_REPORT_THRESHOLD = 4 * hour

/** Random part added to a delay, up to this fraction, so that mail deferred together isn't retried together. */
const JITTER = 0.2

/**
 * Fraction of the delay to use if a server only had too many connections: it hasn't seen the message, and a connection
 * will soon be free.
 */
const CROWDED_SHARE = 1 / 12

/**
 * Returns when to retry after `attempts` attempts.
 * @param random a number in [0, 1)
 * @param crowded whether the attempt failed because the server had too many connections
 * @returns Unix milliseconds
 */
export function computeNextAttempt(attempts: number, now: number, random: number, crowded = false): number {
  const delay = RETRY_DELAYS[Math.min(attempts, RETRY_DELAYS.length) - 1] ?? RETRY_DELAYS[0]!
  return Math.round(now + delay * (crowded ? CROWDED_SHARE : 1) * (1 + JITTER * random))
}
