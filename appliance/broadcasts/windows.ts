/**
 * Limits how many emails of a broadcast are queued per mailbox provider: as many as its lanes send in 15 minutes, and
 * no more than a warm-up allows for the rest of the day. This way, a slow provider doesn't fill the queue, a fast one
 * never runs dry, and no email expires while it waits for the next days of a warm-up.
 */
import type { Clock } from '../clock/clock.ts'

/** The rate at which a sending IP may send to a provider now. */
export interface LaneRate {
  /** The pool of the sending IP. */
  pool: string
  /** Id of the provider. */
  provider: string
  /** Messages per minute; 0 while paused. */
  perMinute: number
  /** Number of messages that the warm-up allows for the rest of the day; null without a warm-up. */
  left: number | null
}

/** Length of a provider's queue, in minutes at its current rate. */
const MINUTES = 15
/** Lower and upper limits, in emails. */
const LEAST = 100
const MOST = 20_000
/** The limit for a provider that has no lane yet, and for all recipients together whose provider isn't known yet. */
const NO_LANE = 1000
const UNKNOWN = 2000
/** How long rates are cached (milliseconds). They change slowly. */
const KEPT_MS = 5000
/** Provider ID whose limits apply to providers that nothing was sent to yet. */
const DEFAULT = 'default'

/**
 * Returns the queue limit of a provider in emails. @param perMinute total rate of its lanes; undefined if it has no
 * lane yet
 */
export function computeQueueLimit(perMinute: number | undefined): number {
  if (perMinute === undefined) return NO_LANE
  return Math.round(Math.max(LEAST, Math.min(MOST, perMinute * MINUTES)))
}

/** The queue limits of a broadcast. */
export interface QueueLimits {
  /** Returns the limit of a provider id; the empty id means all recipients whose provider isn't known yet. */
  of(provider: string): number
  /** Providers that can't get any more emails today. */
  shut: readonly string[]
}

/** Sum of the limits of a pool's sending IPs for one provider. `left` is Infinity without a warm-up. */
interface Sum {
  perMinute: number
  left: number
}

/** Calculates the limits for a pool. */
export function computeQueueLimits(rates: readonly LaneRate[], pool: string): QueueLimits {
  const sums = new Map<string, Sum>()
  for (const { provider, perMinute, left } of rates.filter((one) => one.pool === pool)) {
    const sum = sums.get(provider) ?? { perMinute: 0, left: 0 }
    sums.set(provider, { perMinute: sum.perMinute + perMinute, left: sum.left + (left ?? Infinity) })
  }
  const others = sums.get(DEFAULT)?.left ?? Infinity
  const limitOf = (provider: string): number => {
    if (provider === '') return Math.min(UNKNOWN, others)
    const sum = sums.get(provider)
    return sum ? Math.min(computeQueueLimit(sum.perMinute), sum.left) : Math.min(NO_LANE, others)
  }
  return { of: limitOf, shut: ['', ...sums.keys()].filter((provider) => limitOf(provider) === 0) }
}

/** Creates a function that returns the limits for a pool. */
export function createQueueLimitsLoader({
  laneRates,
  clock,
}: {
  laneRates: () => Promise<LaneRate[]>
  clock: Pick<Clock, 'now'>
}): () => Promise<(pool: string) => QueueLimits> {
  let rates: LaneRate[] = []
  let readAt = -Infinity
  return async () => {
    const now = clock.now()
    if (Math.abs(now - readAt) >= KEPT_MS) {
      readAt = now
      rates = await laneRates()
    }
    return (pool) => computeQueueLimits(rates, pool)
  }
}
