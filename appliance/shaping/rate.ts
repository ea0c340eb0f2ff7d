/** Messages in a minute, exactly: two numbers instead of a list of times. Pure; times in Unix milliseconds. */

/** Messages that come closer than the even pace, at once or after a rest: as many as fit into this time at that pace. */
const BURST = 2000
/**
 * Added to a minute's even pace, so that a burst and the pace after it stay within the limit of any minute; with half a second to spare, since
 * a server may read the last message sooner than the first.
 */
const MINUTE = 60_500
/** The longest that one message can keep the next waiting: at one message a minute. */
const LONGEST = MINUTE + BURST

/** Time from one message to the next at an even pace. */
const spacing = (perMinute: number): number => LONGEST / perMinute

/**
 * The generic cell rate algorithm: `next` is when the next message would come at an even pace; up to BURST before it is allowed.
 * So perMinute + 1 messages need at least perMinute × spacing − BURST = 60.5 seconds.
 */
export function freeNow(next: number, perMinute: number, now: number): number {
  const ahead = clamped(next, now) - now
  if (ahead > BURST) return 0
  return Math.floor((BURST - Math.max(0, ahead)) / spacing(perMinute)) + 1
}

/** The state after one more message. */
export function taken(next: number, perMinute: number, now: number): number {
  return Math.max(clamped(next, now), now) + spacing(perMinute)
}

/** When the next message may go: now or later. */
export function freeAt(next: number, now: number): number {
  // A fraction of a millisecond early would be refused and asked again.
  return Math.max(now, Math.ceil(clamped(next, now) - BURST))
}

/** A lane never gets as far ahead by itself: the clock was set back, which must not stop it for hours. It begins anew. */
const clamped = (next: number, now: number): number => (next > now + BURST + LONGEST ? now : next)
