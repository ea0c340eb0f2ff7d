/**
 * Limits how many emails of a broadcast are in the queue per mailbox provider: what its lanes send in a quarter of an
 * hour. So a slow provider doesn't fill the queue, and a fast one never runs dry.
 */
import type { Clock } from '../clock/clock.ts'

/** The current rate of a lane, or the rate that the first lane to a provider would start with. */
export interface LaneRate {
  /** Id of the provider. */
  provider: string
  /** Messages per minute; 0 while paused. */
  perMinute: number
}

/** Length of a provider's queue, at its current rate (minutes). */
const MINUTES = 15
/** Lower and upper limits, in emails. */
const LEAST = 100
const MOST = 20_000
/** The limit if a provider has no lane yet, and for all recipients whose provider isn't known yet. */
const NO_LANE = 1000
const UNKNOWN = 2000
/** How long rates are cached, because they change slowly (milliseconds). */
const KEPT_MS = 5000

/** Returns the queue limit of a provider in emails. @param perMinute total rate of its lanes; undefined: no lane yet */
export function windowOf(perMinute: number | undefined): number {
  if (perMinute === undefined) return NO_LANE
  return Math.round(Math.max(LEAST, Math.min(MOST, perMinute * MINUTES)))
}

/** Returns the limit for a provider id; the empty id means all recipients whose provider isn't known yet. */
export type Windows = (provider: string) => number

export function createWindows({
  laneRates,
  clock,
}: {
  laneRates: () => Promise<LaneRate[]>
  clock: Pick<Clock, 'now'>
}): () => Promise<Windows> {
  let rates = new Map<string, number>()
  let readAt = -Infinity
  return async () => {
    const now = clock.now()
    if (Math.abs(now - readAt) >= KEPT_MS) {
      readAt = now
      const sums = new Map<string, number>()
      for (const { provider, perMinute } of await laneRates())
        sums.set(provider, (sums.get(provider) ?? 0) + perMinute)
      rates = sums
    }
    return (provider) => (provider === '' ? UNKNOWN : windowOf(rates.get(provider)))
  }
}
