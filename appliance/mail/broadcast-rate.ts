/** Spreads the emails of a broadcast with a rate evenly over the hour. Pure. */

/** Upper limit of the rate of a broadcast, in emails per hour. */
export const MOST_PER_HOUR = 1_000_000
const HOUR_MS = 3_600_000
/**
 * How far the pace may lag behind before what was missed is dropped (milliseconds). So a broadcast that waited for a
 * provider, a pause or a restart doesn't catch up in a burst.
 */
const LAG_MS = 10_000

/** How fast a broadcast may go. */
export interface Pace {
  /** Emails per hour; null: as fast as the lanes allow. */
  hourlyRate: number | null
  /** When its next email may be queued (Unix milliseconds); null: at once. */
  nextAt: number | null
}

/** Returns the time from which emails are due. A lower rate before, or a clock that was set back, doesn't delay it. */
function dueFrom({ nextAt }: Pace, interval: number, now: number): number {
  if (nextAt === null || nextAt > now + interval) return now
  return Math.max(nextAt, now - LAG_MS)
}

/** Returns how many emails may be queued now; Infinity without a rate. */
export function allowedNow(pace: Pace, now: number): number {
  if (pace.hourlyRate === null) return Infinity
  const interval = HOUR_MS / pace.hourlyRate
  const from = dueFrom(pace, interval, now)
  return from > now ? 0 : Math.floor((now - from) / interval) + 1
}

/** Returns when the next email may be queued after `count` were queued; null without a rate. */
export function nextAfter(pace: Pace, count: number, now: number): number | null {
  if (pace.hourlyRate === null) return null
  const interval = HOUR_MS / pace.hourlyRate
  return Math.round(dueFrom(pace, interval, now) + count * interval)
}

/** Emails that a provider's lanes may keep queued: what is due in a quarter of an hour, and some that are deferred. */
const LEAST_QUEUED = 20

/** Limits the queue of a provider, so that a lane that was paused doesn't send far more than the rate at its end. */
export const queueLimit = (hourlyRate: number | null): number =>
  hourlyRate === null ? Infinity : Math.max(LEAST_QUEUED, Math.ceil(hourlyRate / 4))
