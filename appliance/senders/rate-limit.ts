/** How often a team may ask: a token bucket for each, shared by all its keys and by every door. */
import type { Clock } from '../clock/clock.ts'

/** What is in a bucket, in thousandths of a token, so that the sums are whole numbers and exact. */
export interface Bucket {
  level: number
  /** When that was (Unix milliseconds). */
  at: number
}

/** The answer to one request. */
export interface Allowance {
  allowed: boolean
  /** Whole requests that would be allowed now. */
  remaining: number
  /** Seconds until the bucket is full again, rounded up. */
  resetSeconds: number
  /** Seconds until the next request is allowed, rounded up; 0 when it is now. */
  retrySeconds: number
}

export interface RateLimiter {
  /** Tokens that come in each second, and the most that a bucket holds. */
  readonly perSecond: number
  /** Takes a token for one request of the team, if there is one. */
  take(teamId: string): Allowance
}

/** Thousandths: a rate of n a second is n of them each millisecond. */
const TOKEN = 1000
/** A bucket is full after this many milliseconds, since it holds what comes in a second. */
const FULL_MS = 1000
/** Teams remembered; those idle for a second are as good as new, so forgetting them changes nothing. */
const REMEMBERED = 10_000

/** What a bucket holds at `now`. A clock that was set back brings no tokens and costs none. Pure. */
export function refill(bucket: Bucket | undefined, perSecond: number, now: number): Bucket {
  const most = perSecond * TOKEN
  if (!bucket) return { level: most, at: now }
  const elapsed = Math.min(Math.max(now - bucket.at, 0), FULL_MS)
  return { level: Math.min(bucket.level + elapsed * perSecond, most), at: now }
}

/** Takes a token out of a bucket that was just refilled. Pure. */
export function take(bucket: Bucket, perSecond: number): { bucket: Bucket; allowance: Allowance } {
  const allowed = bucket.level >= TOKEN
  const level = allowed ? bucket.level - TOKEN : bucket.level
  const seconds = (missing: number) => Math.ceil(Math.max(missing, 0) / (perSecond * 1000))
  const allowance = {
    allowed,
    remaining: Math.floor(level / TOKEN),
    resetSeconds: seconds(perSecond * TOKEN - level),
    retrySeconds: allowed ? 0 : seconds(TOKEN - level),
  }
  return { bucket: { level, at: bucket.at }, allowance }
}

/** @param perSecond a whole number of requests, at least 1; as many may come at once */
export function createRateLimiter({ clock, perSecond }: { clock: Clock; perSecond: number }): RateLimiter {
  const buckets = new Map<string, Bucket>()

  function forgetIdle(now: number): void {
    for (const [teamId, { at }] of buckets) if (now - at >= FULL_MS) buckets.delete(teamId)
  }

  return {
    perSecond,
    take(teamId) {
      const now = clock.now()
      const { bucket, allowance } = take(refill(buckets.get(teamId), perSecond, now), perSecond)
      buckets.set(teamId, bucket)
      if (buckets.size > REMEMBERED) forgetIdle(now)
      return allowance
    },
  }
}
