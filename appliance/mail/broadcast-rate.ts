/** Spreads the emails of a broadcast with an hourly rate evenly over the hour. Pure. */

/** Upper limit of the rate of a broadcast, in emails per hour. */
export const MAX_EMAILS_PER_HOUR = 1_000_000
const HOUR_MS = 3_600_000
/**
 * Maximum delay that is made up for, in milliseconds. Without it, a broadcast that waited for a provider, a pause or a
 * restart would catch up in a burst.
 */
const LAG_MS = 10_000

/** The pace of a broadcast. */
export interface SendingRate {
  /** Maximum number of emails per hour; null for as fast as the lanes allow. */
  hourlyRate: number | null
  /** When the next email may be queued (Unix milliseconds); null for at once. */
  nextAt: number | null
}

/**
 * Returns the time from which emails are due. A previous lower rate, or a clock that was set back, doesn't delay it.
 */
function dueFrom({ nextAt }: SendingRate, interval: number, now: number): number {
  if (nextAt === null || nextAt > now + interval) return now
  return Math.max(nextAt, now - LAG_MS)
}

/** Returns how many emails may be queued now; Infinity without a rate. */
export function countAllowedNow(pace: SendingRate, now: number): number {
  if (pace.hourlyRate === null) return Infinity
  const interval = HOUR_MS / pace.hourlyRate
  const from = dueFrom(pace, interval, now)
  return from > now ? 0 : Math.floor((now - from) / interval) + 1
}

/** Returns when the next email may be queued after `count` were queued; null without a rate. */
export function computeNextTime(pace: SendingRate, count: number, now: number): number | null {
  if (pace.hourlyRate === null) return null
  const interval = HOUR_MS / pace.hourlyRate
  return Math.round(dueFrom(pace, interval, now) + count * interval)
}

/** Minimum queue limit of a provider in emails, with space for some that are deferred. */
const LEAST_QUEUED = 20

/**
 * Returns the queue limit of a provider: the emails of a quarter of an hour. Without it, a lane whose pause ends would
 * send far more than the rate.
 */
export const computeProviderQueueLimit = (hourlyRate: number | null): number =>
  hourlyRate === null ? Infinity : Math.max(LEAST_QUEUED, Math.ceil(hourlyRate / 4))
