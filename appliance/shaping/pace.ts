/**
 * Determines how fast a lane sends, based on the mail that the provider accepts and refuses. Pure; times in Unix
 * milliseconds.
 *
 * Providers rarely publish their limits, so the lane searches for them as TCP CUBIC (RFC 9438) searches for the
 * capacity of a path:
 *
 * 1. A refusal stops sending. Single messages test whether the provider accepts mail again.
 * 2. Once it does, the rate accepted before the refusal becomes the ceiling. The lane continues just below it.
 * 3. The lane stays there for some time, longer each time the ceiling is confirmed. Then it exceeds the ceiling, first
 *    slightly, then more and more, so that a lifted limit is soon noticed.
 * 4. A ceiling that wasn't confirmed for hours is dropped.
 */

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** Lowest ceiling, in messages per minute. */
const LEAST_RATE = 1
/**
 * Minimum of the first estimate, in messages per minute: a single refusal of a lane that hardly sends says little about
 * its pace.
 */
const LEAST_GUESS = 6
/**
 * Time between two test messages: minimum and maximum in milliseconds, and share of the time since the first refusal.
 */
const ASK_LEAST = 10_000
const ASK_MOST = 5 * MINUTE
const ASK_SHARE = 0.2
/** Time after which a per-minute limit has passed. A limit that lasts longer is hourly or daily. */
const MINUTE_LIMIT = 2 * MINUTE
/** Time without an accepted message after which a lane starts a new run. */
const RUN_GAP = 5 * MINUTE
/**
 * Shares of the ceiling: the rate at which the lane continues after a refusal, the rate it keeps, and the first step
 * above the ceiling.
 */
const RESUME = 0.9
const STAY = 0.97
const PROBE = 0.05
/** The first step above a ceiling found only once, which may be far too low. */
const BOLD_PROBE = 0.4
/** A new estimate within this share confirms the ceiling. */
const SAME = 0.2
/** How long the lane stays below a confirmed ceiling: initially, and at most. */
const STAY_LEAST = 4 * MINUTE
const STAY_MOST = HOUR / 2
const FORGET = 6 * HOUR
/** Without a ceiling, each increase adds this share of the provider's limit. */
const STEP = 0.05

/** The state from which a lane determines the pace that its provider accepts. */
export interface Pace {
  /** Current rate in messages per minute, within the provider's limit. */
  rate: number
  changedAt: number
  /** Number of messages accepted in minute number `minute` since 1970, and in the previous minute. */
  accepted: { minute: number; now: number; before: number }
  /** Number of messages accepted since the last refusal or idle time. */
  run: { since: number; count: number; lastAt: number }
  /** The refusal in effect; null once a message is accepted again. */
  refused: Refused | null
  ceiling: Ceiling | null
}

interface Refused {
  /** Times of the first and the last refusal. */
  since: number
  lastAt: number
  /** Time at which the next test message may be sent. */
  askAt: number
  /** Number of messages accepted in the 60 seconds before the refusal. */
  accepted: number
  /** How long the reply asks for less mail; null if the reply isn't about volume. */
  holdMs: number | null
}

/** The highest rate that the provider is known to accept. */
interface Ceiling {
  rate: number
  at: number
  /** How long the provider refused mail. Its limit covers at least this time, so the rate isn't raised more often. */
  windowMs: number
  /** How long the lane stays below the ceiling. */
  holdMs: number
  confirmed: boolean
}

/** Creates the pace of an unused lane. */
export function createPace(rate: number): Pace {
  return {
    rate,
    changedAt: 0,
    accepted: { minute: 0, now: 0, before: 0 },
    run: { since: 0, count: 0, lastAt: 0 },
    refused: null,
    ceiling: null,
  }
}

/** Sets a fixed pace to grow from, after a pause that a provider asked for. */
export function resetPace(pace: Pace, rate: number, now: number): Pace {
  return { ...pace, rate, changedAt: now, refused: null, ceiling: null }
}

/** Returns the number of test messages per minute; Infinity while mail is accepted. */
export function getTestRate({ refused: refusal }: Pace): number {
  return refusal ? MINUTE / askDelay(refusal.lastAt - refusal.since) : Infinity
}

/** Records the start of a message. While the provider refuses, the next one waits. */
export function recordMessageStart(pace: Pace, now: number): Pace {
  return pace.refused ? { ...pace, refused: { ...pace.refused, askAt: now + ASK_LEAST } } : pace
}

/**
 * Records an accepted message.
 * @param since when the message was admitted
 * @param limit maximum number of messages per minute
 */
export function recordAcceptance(pace: Pace, since: number, limit: number, now: number): Pace {
  const counted = { ...pace, accepted: countedMinute(pace.accepted, now), run: countedRun(pace, now) }
  const { refused: refusal } = pace
  if (!refusal) return grown(counted, limit, now)
  // Admitted before the refusal, which came earlier because it answered MAIL. This doesn't show that mail is accepted
  // again.
  if (since <= refusal.lastAt) return { ...counted, refused: { ...refusal, accepted: refusal.accepted + 1 } }
  return resumed(counted, refusal, limit, now)
}

/**
 * Records the refusal of a message that started after all known changes.
 * @param holdMs how long the reply asks for less mail; null if it isn't about volume
 */
export function recordRefusal(pace: Pace, holdMs: number | null, now: number): Pace {
  const first = pace.refused ?? { since: now, accepted: lastMinute(pace.accepted, now), holdMs: null }
  const askAt = now + askDelay(now - first.since)
  const hold = holdMs === null ? first.holdMs : Math.max(holdMs, first.holdMs ?? 0)
  return { ...pace, refused: { ...first, lastAt: now, askAt, holdMs: hold } }
}

const askDelay = (lasted: number): number => Math.min(ASK_MOST, Math.max(ASK_LEAST, lasted * ASK_SHARE))

/** Continues after mail was accepted again. */
function resumed(pace: Pace, before: Refused, limit: number, now: number): Pace {
  const run = { since: now, count: 1, lastAt: now }
  const known = ceilingOf(pace, now)
  // The next message may have started long after the provider would have accepted one.
  const lasted = Math.min(now, before.lastAt + askDelay(before.lastAt - before.since)) - before.since
  const said = before.holdMs !== null || before.accepted >= LEAST_GUESS || known !== null
  if (!said) {
    const rate = Math.min(limit, Math.max(LEAST_GUESS, before.accepted))
    return { ...pace, run, refused: null, rate, changedAt: now }
  }
  const found = estimate(pace, before, lasted, known)
  const confirmed = known !== null && Math.abs(found - known.rate) <= SAME * known.rate
  const windowMs = Math.max(MINUTE, lasted)
  const longer = confirmed ? Math.min(STAY_MOST, Math.max(STAY_LEAST, 2 * known.holdMs)) : 0
  const holdMs = Math.max(before.holdMs ?? 0, longer, lasted > MINUTE_LIMIT ? 2 * windowMs : 0)
  const rate = Math.min(limit, Math.max(LEAST_RATE, RESUME * found))
  const ceiling = { rate: found, at: now, windowMs, holdMs, confirmed }
  return { ...pace, run, refused: null, ceiling, rate, changedAt: now }
}

/** Estimates the messages per minute that the provider accepted before it refused. */
function estimate(pace: Pace, before: Refused, lasted: number, known: Ceiling | null): number {
  const { since, count } = pace.run
  // For an hourly limit, the accepted messages also cover the time of the refusal.
  const seen = lasted <= MINUTE_LIMIT ? before.accepted : count / ((before.since + lasted - since) / MINUTE)
  // The provider refused mail below the known ceiling, so the ceiling was too high.
  const lower = known && pace.rate <= known.rate ? Math.min(seen, RESUME * pace.rate) : seen
  return Math.max(known || lasted > MINUTE_LIMIT ? LEAST_RATE : LEAST_GUESS, lower)
}

/** Increases the rate if the last change was long enough ago for the provider to react. */
function grown(pace: Pace, limit: number, now: number): Pace {
  const { rate, changedAt } = pace
  if (rate >= limit) return pace
  const ceiling = ceilingOf(pace, now)
  // Setting the clock back must not stop the lane for hours.
  const since = now >= changedAt ? now - changedAt : Infinity
  if (since < (ceiling?.windowMs ?? MINUTE)) return pace
  const next = ceiling ? beyond(pace, ceiling, now) : rate + Math.max(LEAST_GUESS, Math.ceil(limit * STEP))
  return next > rate ? { ...pace, ceiling, rate: Math.min(limit, next), changedAt: now } : pace
}

/**
 * Returns the next rate of a lane with a ceiling: halfway up to the ceiling, then constant, then increasingly above it.
 */
function beyond({ rate, accepted }: Pace, ceiling: Ceiling, now: number): number {
  const top = STAY * ceiling.rate
  if (rate < top) return top - rate < 0.03 * top ? top : (rate + top) / 2
  const used = lastMinute(accepted, now) >= rate / 2
  if (now - ceiling.at < ceiling.holdMs || !used) return rate
  const first = Math.max(1, (ceiling.confirmed ? PROBE : BOLD_PROBE) * ceiling.rate)
  return Math.max(rate + first, top + 2 * (rate - top))
}

const ceilingOf = ({ ceiling }: Pace, now: number): Ceiling | null =>
  ceiling && now - ceiling.at < FORGET ? ceiling : null

function countedMinute(counts: Pace['accepted'], now: number): Pace['accepted'] {
  const minute = Math.floor(now / MINUTE)
  if (counts.minute === minute) return { ...counts, now: counts.now + 1 }
  return { minute, now: 1, before: counts.minute === minute - 1 ? counts.now : 0 }
}

function countedRun({ run, refused }: Pace, now: number): Pace['run'] {
  const rested = refused === null && now - run.lastAt > RUN_GAP
  return rested ? { since: now, count: 1, lastAt: now } : { ...run, count: run.count + 1, lastAt: now }
}

/** Estimates the number of messages in the last 60 seconds, assuming an even rate in the previous minute. */
function lastMinute({ minute, now: current, before }: Pace['accepted'], now: number): number {
  const passed = now / MINUTE - minute
  if (passed < 1) return current + before * (1 - passed)
  return passed < 2 ? current * (2 - passed) : 0
}
