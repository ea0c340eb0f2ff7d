import {
  recordStart,
  createLaneState,
  recordMailCommand,
  computeMailWait,
  applySignal,
  computeResumeTime,
  availableCapacity,
  getDisplayRate,
} from '../../appliance/shaping/shaping.ts'
import type { LaneState, Provider, Signal } from '../../appliance/shaping/shaping.ts'

/** Simulates a lane with more mail than it can send, to a server with an undocumented limit, on its own clock. */

/** Reports whether a server accepts a message at this moment. */
export type HiddenLimit = (now: number) => boolean

/** Accepts at most `most` messages in any window of this length. Refused messages don't count. */
export function slidingLimit(most: number, windowMs: number): HiddenLimit {
  const times: number[] = []
  return (now) => {
    while (times.length > 0 && now - times[0]! >= windowMs) times.shift()
    if (times.length >= most) return false
    times.push(now)
    return true
  }
}

/** Accepts at most `most` messages in each minute, hour or day of the clock. */
export function fixedLimit(most: number, windowMs: number): HiddenLimit {
  let [window, count] = [0, 0]
  return (now) => {
    const current = Math.floor(now / windowMs)
    if (current !== window) [window, count] = [current, 0]
    count += 1
    return count <= most
  }
}

/** Token bucket: holds up to `most` messages and refills evenly. */
export function bucketLimit(most: number, windowMs: number): HiddenLimit {
  let [level, at] = [most, 0]
  return (now) => {
    level = Math.min(most, level + ((now - at) * most) / windowMs)
    at = now
    if (level < 1) return false
    level -= 1
    return true
  }
}

/** Applies the first limit before an instant and the second one afterwards. */
export const until = (instant: number, before: HiddenLimit, after: HiddenLimit): HiddenLimit => {
  return (now) => (now < instant ? before : after)(now)
}

export interface MinuteOfLane {
  /** Messages per minute that the lane allowed at the end of the minute. */
  allowed: number
  accepted: number
  refused: number
}

export interface HiddenLimitOptions {
  provider: Provider
  server: HiddenLimit
  minutes: number
  start: number
  /** The content of a refusal. */
  refusal: Pick<Signal, 'said' | 'note'> & Pick<Signal, 'asks'>
  /** Time from MAIL to the reply that accepts a message, in milliseconds. */
  latency?: number
  /** Called after each minute. Its return value replaces the state, to simulate a restart. */
  eachMinute?: (state: LaneState, minute: number) => LaneState
}

const MINUTE = 60_000
/** MAIL is refused before the message is sent, so a refusal overtakes messages that were accepted earlier. */
const REFUSED_SOONER = 5

interface InFlight {
  since: number
  mailAt: number
  /** Null until MAIL was sent. */
  answerAt: number | null
  accepted: boolean
}

/** Runs a lane for the given number of minutes. Returns what happened in each. */
export function runLane(options: HiddenLimitOptions): MinuteOfLane[] {
  const { provider, server, minutes, start, refusal, latency = 100 } = options
  const { limits } = provider
  let state = createLaneState(limits)
  let now = start
  let inFlight: InFlight[] = []
  const result: MinuteOfLane[] = []
  let current: MinuteOfLane = { allowed: 0, accepted: 0, refused: 0 }

  const learn = (kind: Signal['kind'], since: number): void => {
    const told = kind === 'taken' ? { said: null, note: '' } : refusal
    state = applySignal(
      state,
      { kind, since, recipients: 1, final: kind === 'taken', ...told },
      provider,
      now,
    )
  }
  const proceed = (one: InFlight): void => {
    if (one.answerAt !== null && one.answerAt <= now) {
      inFlight = inFlight.filter((other) => other !== one)
      current[one.accepted ? 'accepted' : 'refused'] += 1
      learn(one.accepted ? 'taken' : 'slower', one.since)
    } else if (one.answerAt === null && one.mailAt <= now) {
      const wait = computeMailWait(state, one.since, now)
      if (wait === null) inFlight = inFlight.filter((other) => other !== one)
      else if (wait > 0) one.mailAt = now + wait
      else {
        state = recordMailCommand(state, limits, now)
        one.accepted = server(now)
        one.answerAt = now + (one.accepted ? latency : latency / REFUSED_SOONER)
      }
    }
  }
  const end = start + minutes * MINUTE
  while (now < end) {
    for (const one of [...inFlight]) proceed(one)
    while (availableCapacity(state, limits, inFlight.length, now) > 0) {
      state = recordStart(state, limits, now)
      inFlight.push({ since: now, mailAt: now + 10, answerAt: null, accepted: false })
    }
    const opens = computeResumeTime(state, now) ?? Infinity
    const next = Math.min(
      end,
      start + (result.length + 1) * MINUTE,
      opens > now ? opens : Infinity,
      ...inFlight.map(({ mailAt, answerAt }) => answerAt ?? mailAt),
    )
    now = Math.max(next, now + 1)
    if (now < start + (result.length + 1) * MINUTE) continue
    result.push({ ...current, allowed: getDisplayRate(state, limits, now) })
    current = { allowed: 0, accepted: 0, refused: 0 }
    state = options.eachMinute?.(state, result.length) ?? state
  }
  return result
}
