/**
 * An exact rate limit per minute that stores two numbers instead of a list of times. Pure; times in Unix milliseconds.
 */

/**
 * Burst size in milliseconds: as many messages as an even pace sends in this time may be sent together, initially or
 * after an idle time.
 */
const BURST = 2000
/**
 * Length of a minute for the even pace, in milliseconds. The extra time keeps a burst and the following messages within
 * the limit in any minute. Half a second is spare, because a server may read the last message sooner than the first.
 */
const MINUTE = 60_500
/** Maximum delay that one message causes for the next one, in milliseconds; reached at one message per minute. */
const LONGEST = MINUTE + BURST

/** Returns the time between two messages at an even pace. */
const spacing = (perMinute: number): number => LONGEST / perMinute

/**
 * Returns how many messages may be sent now, by the generic cell rate algorithm. `next` is when the next message is due
 * at an even pace; it is allowed up to BURST earlier. perMinute + 1 messages therefore take at least perMinute ×
 * spacing − BURST = 60.5 seconds.
 */
export function countAvailableNow(next: number, perMinute: number, now: number): number {
  const ahead = clamped(next, now) - now
  if (ahead > BURST) return 0
  return Math.floor((BURST - Math.max(0, ahead)) / spacing(perMinute)) + 1
}

/** Returns the state after one more message. */
export function recordMessage(next: number, perMinute: number, now: number): number {
  return Math.max(clamped(next, now), now) + spacing(perMinute)
}

/** Returns when the next message may be sent: now or later. */
export function computeNextAvailableTime(next: number, now: number): number {
  // Round up: a message that is a fraction of a millisecond early would be refused and checked again.
  return Math.max(now, Math.ceil(clamped(next, now) - BURST))
}

/**
 * Resets a state that is too far in the future, which only happens after the clock was set back. That must not stop the
 * lane for hours.
 */
const clamped = (next: number, now: number): number => (next > now + BURST + LONGEST ? now : next)
