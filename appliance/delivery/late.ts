/** Explains why a delivery was leased later than it was due, from when lanes had no capacity. */
import { laneWords, SHORTEST_WAIT, type Waited } from '../mail/waiting.ts'
import type { Clock } from '../clock/clock.ts'
import { destinationOf } from '../mail/queue.ts'
import { allowed, isPaused, opensAt, warmUpOf, type Provider } from '../shaping/shaping.ts'
import type { LeasedDelivery } from '../storage/storage.ts'
import type { Lane } from './lane-memory.ts'

type Why = Pick<Waited, 'reason' | 'why'>

/** Maximum number of destinations to remember. */
const MOST = 2000

/** For several lanes, the mildest reason counts: the one that would have ended first. */
const MILDEST = ['connections', 'rate', 'warm_up', 'paused'] as const

/** Returns why the lanes of a destination have no capacity. */
export function whyClosed(lanes: readonly Lane[], provider: Provider, now: number): Why {
  const found = lanes.map((lane) => whyFull(lane, provider, now))
  for (const reason of MILDEST) {
    const one = found.find((other) => other.reason === reason)
    if (one) return one
  }
  return { reason: 'queue', why: 'no sending IP could send to this provider' }
}

function whyFull({ state, source, recipients }: Lane, { name, limits, warmUp }: Provider, now: number): Why {
  if (isPaused(state, now)) {
    const because = state.reason === null ? '' : ` (${laneWords(state.reason, name)})`
    return { reason: 'paused', why: `sending to ${name} was paused${because}` }
  }
  const warm = warmUpOf(state, source.warmUpSince, warmUp, now)
  if (warm !== null && warm.left <= recipients)
    return {
      reason: 'warm_up',
      why: `warm-up: the daily limit of ${warm.share} messages to ${name} was reached`,
    }
  if ((opensAt(state, now) ?? 0) > now) {
    const { rate } = allowed(state, limits, now)
    return {
      reason: 'rate',
      why: `rate limit of ${rate === 1 ? 'one message' : `${rate} messages`} a minute to ${name}`,
    }
  }
  return { reason: 'connections', why: `all connections to ${name} were in use` }
}

/** Remembers destinations that had no capacity. */
export class Closings {
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
  whyLate(delivery: LeasedDelivery): Waited | undefined {
    const { attempts, createdAt, scheduledAt, dueAt, touchedAt } = delivery
    const now = this.#clock.now()
    const since = attempts === 1 ? Math.max(createdAt, scheduledAt ?? 0) : dueAt
    if (now - since < SHORTEST_WAIT) return undefined
    if (touchedAt !== null && touchedAt > since) return { since, reason: 'held', why: 'held by an operator' }
    // The restart is the reason if the service was down for most of the time.
    if (this.#begunAt - since > now - this.#begunAt)
      return { since, reason: 'restart', why: 'Posthaste was not running' }
    const closed = this.#last.get(destinationOf(delivery))
    if (closed && closed.at >= since) return { since, reason: closed.reason, why: closed.why }
    return { since, reason: 'queue', why: 'other queued mail was sent first' }
  }
}
