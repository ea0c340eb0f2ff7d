/** Explains why a delivery was leased later than it was due, from when lanes had no capacity. */
import { describeLaneReason, MIN_SHOWN_WAIT, type PastWait } from '../mail/waiting.ts'
import type { Clock } from '../clock/clock.ts'
import { formatDestination } from '../mail/queue.ts'
import {
  getCurrentLimits,
  isPaused,
  computeResumeTime,
  getWarmUpProgress,
  type Provider,
} from '../shaping/shaping.ts'
import type { LeasedDelivery } from '../storage/storage.ts'
import type { Lane } from './lane-history.ts'

type Why = Pick<PastWait, 'reason' | 'why'>

/** Maximum number of destinations to remember. */
const MOST = 2000

/** If several lanes have no capacity, the mildest reason counts: the one that would have ended first. */
const MILDEST = ['connections', 'rate', 'warm_up', 'paused'] as const

/** Returns why the lanes of a destination have no capacity. */
export function explainClosedLanes(lanes: readonly Lane[], provider: Provider, now: number): Why {
  const found = lanes.map((lane) => whyFull(lane, provider, now))
  for (const reason of MILDEST) {
    const one = found.find((other) => other.reason === reason)
    if (one) return one
  }
  return { reason: 'queue', why: 'no sending IP could send to this provider' }
}

function whyFull({ state, source, recipients }: Lane, { name, limits, warmUp }: Provider, now: number): Why {
  if (isPaused(state, now)) {
    const because = state.reason === null ? '' : ` (${describeLaneReason(state.reason, name)})`
    return { reason: 'paused', why: `sending to ${name} was paused${because}` }
  }
  const warm = getWarmUpProgress(state, source.warmUpSince, warmUp, now)
  if (warm !== null && warm.left <= recipients)
    return {
      reason: 'warm_up',
      why: `warm-up: the daily limit of ${warm.share} messages to ${name} was reached`,
    }
  if ((computeResumeTime(state, now) ?? 0) > now) {
    const { rate } = getCurrentLimits(state, limits, now)
    return {
      reason: 'rate',
      why: `rate limit of ${rate === 1 ? 'one message' : `${rate} messages`} a minute to ${name}`,
    }
  }
  return { reason: 'connections', why: `all connections to ${name} were in use` }
}

/** Remembers destinations that had no capacity. */
export class ClosedDestinations {
  readonly #clock: Clock
  readonly #begunAt: number
  readonly #last = new Map<string, Why & { at: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
    this.#begunAt = clock.now()
  }

  /** Records that a destination has no capacity now. */
  note(destination: string, why: Why, now: number): void {
    this.#last.delete(destination)
    this.#last.set(destination, { ...why, at: now })
    if (this.#last.size > MOST) this.#last.delete(this.#last.keys().next().value!)
  }

  /** Returns why the attempt that begins now is later than it was due; undefined when it isn't. */
  whyLate(delivery: LeasedDelivery): PastWait | undefined {
    const { attempts, createdAt, scheduledAt, dueAt, touchedAt } = delivery
    const now = this.#clock.now()
    const since = attempts === 1 ? Math.max(createdAt, scheduledAt ?? 0) : dueAt
    if (now - since < MIN_SHOWN_WAIT) return undefined
    if (touchedAt !== null && touchedAt > since) return { since, reason: 'held', why: 'held by an operator' }
    // The restart is the reason if the service was down for most of the time.
    if (this.#begunAt - since > now - this.#begunAt)
      return { since, reason: 'restart', why: 'Posthaste was not running' }
    const closed = this.#last.get(formatDestination(delivery))
    if (closed && closed.at >= since) return { since, reason: closed.reason, why: closed.why }
    return { since, reason: 'queue', why: 'other queued mail was sent first' }
  }
}
