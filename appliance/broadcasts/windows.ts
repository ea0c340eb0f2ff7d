/**
 * Limits how many emails of a broadcast are in the queue per mailbox provider: what its lanes send in a quarter of an
 * hour, and no more than a warm-up leaves for today. So a slow provider doesn't fill the queue, a fast one never runs
 * dry, and no email expires while it waits for the next days of a warm-up.
 */
import type { Clock } from '../clock/clock.ts'

/** What a source may send to a provider now. */
export interface LaneRate {
  /** The pool of the source. */
  pool: string
  /** Id of the provider. */
  provider: string
  /** Messages per minute; 0 while paused. */
  perMinute: number
  /** Messages that the warm-up leaves for today; null: no warm-up. */
  left: number | null
}

/** Length of a provider's queue, at its current rate (minutes). */
const MINUTES = 15
/** Lower and upper limits, in emails. */
const LEAST = 100
const MOST = 20_000
/** The limit if a provider isn't known to the lanes yet, and for all recipients whose provider isn't known yet. */
const NO_LANE = 1000
const UNKNOWN = 2000
/** How long rates are cached, because they change slowly (milliseconds). */
const KEPT_MS = 5000
/** The id whose limits apply to providers that nothing was sent to yet. */
const DEFAULT = 'default'

/** Returns the queue limit of a provider in emails. @param perMinute total rate of its lanes; undefined: no lane yet */
export function windowOf(perMinute: number | undefined): number {
  if (perMinute === undefined) return NO_LANE
  return Math.round(Math.max(LEAST, Math.min(MOST, perMinute * MINUTES)))
}

/** The queue limits of a broadcast. */
export interface Windows {
  /** Returns the limit of a provider id; the empty id means all recipients whose provider isn't known yet. */
  of(provider: string): number
  /** Providers that get nothing more today. */
  shut: readonly string[]
}

/** The limits of a pool's sources for one provider, added up. `left`: Infinity without a warm-up. */
interface Sum {
  perMinute: number
  left: number
}

/** Calculates the limits for a pool. */
export function windowsFor(rates: readonly LaneRate[], pool: string): Windows {
  const sums = new Map<string, Sum>()
  for (const { provider, perMinute, left } of rates.filter((one) => one.pool === pool)) {
    const sum = sums.get(provider) ?? { perMinute: 0, left: 0 }
    sums.set(provider, { perMinute: sum.perMinute + perMinute, left: sum.left + (left ?? Infinity) })
  }
  const others = sums.get(DEFAULT)?.left ?? Infinity
  const limitOf = (provider: string): number => {
    if (provider === '') return Math.min(UNKNOWN, others)
    const sum = sums.get(provider)
    return sum ? Math.min(windowOf(sum.perMinute), sum.left) : Math.min(NO_LANE, others)
  }
  return { of: limitOf, shut: ['', ...sums.keys()].filter((provider) => limitOf(provider) === 0) }
}

/** Creates a function that returns the limits for a pool. */
export function createWindows({
  laneRates,
  clock,
}: {
  laneRates: () => Promise<LaneRate[]>
  clock: Pick<Clock, 'now'>
}): () => Promise<(pool: string) => Windows> {
  let rates: LaneRate[] = []
  let readAt = -Infinity
  return async () => {
    const now = clock.now()
    if (Math.abs(now - readAt) >= KEPT_MS) {
      readAt = now
      rates = await laneRates()
    }
    return (pool) => windowsFor(rates, pool)
  }
}
