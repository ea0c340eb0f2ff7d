/**
 * When a deferred delivery is tried again, and when it is given up (RFC 5321 §4.5.4.1: at least 30 minutes apart
 * once the first tries failed, given up after 4–5 days).
 */

const minute = 60_000
const hour = 60 * minute

/** Milliseconds from one attempt to the next: after the first, after the second, …; the last entry repeats. */
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

/** How long a delivery may wait altogether, from acceptance (or its scheduled time). */
export const LIFETIME = 96 * hour

/**
 * How long a delivery whose first attempt was interrupted by a restart waits for the next, in milliseconds. Later attempts keep their times,
 * so that a daemon that is killed again and again does not send the same message each time.
 */
export const INTERRUPTED_DELAY = 10_000

/**
 * How long a delivery waits until its sender is told that it does: long enough for a greylist or a restart to be over,
 * short enough for a person to act on the same day.
 */
export const DELAY_REPORT_AFTER = 4 * hour

/** Up to this share of a delay is added at random, so that mail deferred together does not come back together. */
const JITTER = 0.2

/** Share of a delay when a server only had too many connections: it has not looked at the message, and a connection is soon free. */
const CROWDED_SHARE = 1 / 12

/**
 * When to retry after `attempts` attempts.
 * @param random a number in [0, 1), the caller's dice
 * @param crowded the server had too many connections
 * @returns Unix milliseconds
 */
export function nextAttemptAt(attempts: number, now: number, random: number, crowded = false): number {
  const delay = RETRY_DELAYS[Math.min(attempts, RETRY_DELAYS.length) - 1] ?? RETRY_DELAYS[0]!
  return Math.round(now + delay * (crowded ? CROWDED_SHARE : 1) * (1 + JITTER * random))
}
