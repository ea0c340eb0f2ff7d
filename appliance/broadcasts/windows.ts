/**
 * How many emails of a broadcast may be in the queue for each mailbox provider: what its lanes send in a quarter of an hour. So a slow
 * provider fills no queue, and a fast one never runs dry.
 */
import type { Clock } from '../clock/clock.ts'

/** What a lane sends now, or what the first one to a provider would. */
export interface LaneRate {
  /** Id of the provider. */
  provider: string
  /** Messages a minute; 0 while it is paused. */
  perMinute: number
}

/** How long the queue of one provider is, at its rate (minutes). */
const MINUTES = 15
/** The least and the most, in emails. */
const LEAST = 100
const MOST = 20_000
/** Where nothing is known of the provider but its name, and for all whose provider is not known yet. */
const NO_LANE = 1000
const UNKNOWN = 2000
/** Rates change slowly (milliseconds). */
const KEPT_MS = 5000

/** Emails in the queue for a provider. @param perMinute what all lanes to it send; undefined: there is none yet */
export function windowOf(perMinute: number | undefined): number {
  if (perMinute === undefined) return NO_LANE
  return Math.round(Math.max(LEAST, Math.min(MOST, perMinute * MINUTES)))
}

/** The windows as the lanes are now, by the id of the provider; empty: all whose provider is not known yet. */
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
