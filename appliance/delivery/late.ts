/** Why a delivery was leased later than it was due: what lanes remember of when they had no room. */
import { laneWords, SHORTEST_WAIT, type Waited } from '../mail/waiting.ts'
import type { Clock } from '../clock/clock.ts'
import { destinationOf } from '../mail/queue.ts'
import { allowed, isPaused, opensAt, warmUpOf, type Provider } from '../shaping/shaping.ts'
import type { LeasedDelivery } from '../storage/storage.ts'
import type { Lane } from './lane-memory.ts'

type Why = Pick<Waited, 'reason' | 'why'>

/** Destinations that are remembered. */
const MOST = 2000

/** The reason of several lanes is the mildest: what would have opened first. */
const MILDEST = ['connections', 'rate', 'warm_up', 'paused'] as const

/** Why the lanes of a destination have no room. */
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

/** What this process knows of destinations that had no room. */
export class Closings {
  readonly #clock: Clock
  readonly #begunAt: number
  readonly #last = new Map<string, Why & { at: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
    this.#begunAt = clock.now()
  }

  /** The destination has no room now. */
  note(destination: string, why: Why, now: number): void {
    this.#last.delete(destination)
    this.#last.set(destination, { ...why, at: now })
    if (this.#last.size > MOST) this.#last.delete(this.#last.keys().next().value!)
  }

  /** Why the attempt that begins now was not made when it was due; undefined when it was. */
  whyLate(delivery: LeasedDelivery): Waited | undefined {
    const { attempts, createdAt, scheduledAt, dueAt, touchedAt } = delivery
    const now = this.#clock.now()
    const since = attempts === 1 ? Math.max(createdAt, scheduledAt ?? 0) : dueAt
    if (now - since < SHORTEST_WAIT) return undefined
    if (touchedAt !== null && touchedAt > since) return { since, reason: 'held', why: 'held by an operator' }
    // A restart is the reason when the service was away for most of the time.
    if (this.#begunAt - since > now - this.#begunAt)
      return { since, reason: 'restart', why: 'Posthaste was not running' }
    const closed = this.#last.get(destinationOf(delivery))
    if (closed && closed.at >= since) return { since, reason: closed.reason, why: closed.why }
    return { since, reason: 'queue', why: 'other queued mail was sent first' }
  }
}
