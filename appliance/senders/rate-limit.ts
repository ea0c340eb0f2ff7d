/** Rate-limits requests by team: one token bucket per team, shared by all its keys and protocols. */
import type { Clock } from '../clock/clock.ts'

/** Contents of a bucket in thousandths of a token, so that arithmetic is exact. */
export interface Bucket {
  level: number
  /** When `level` was computed, in Unix milliseconds. */
  at: number
}

/** The result for one request. */
export interface Allowance {
  allowed: boolean
  /** Number of requests that would be allowed now. */
  remaining: number
  /** Seconds until the bucket is full again, rounded up. */
  resetSeconds: number
  /** Seconds until the next request is allowed, rounded up; 0 for now. */
  retrySeconds: number
}

export interface RateLimiter {
  /** Number of tokens added per second, and the size of the bucket. */
  readonly perSecond: number
  /** Takes a token for a request of the team, if there is one. */
  take(teamId: string): Allowance
}

/** One token in thousandths: a rate of n per second then adds n of these per millisecond. */
const TOKEN = 1000
/** Milliseconds to fill an empty bucket, which holds one second's tokens. */
const FULL_MS = 1000
/**
 * Maximum number of teams to remember. Idle teams have a full bucket after a second, so dropping them changes nothing.
 */
const REMEMBERED = 10_000

/** Computes a bucket's contents at `now`. Setting the clock back neither adds nor removes tokens. Pure. */
export function refillBucket(bucket: Bucket | undefined, perSecond: number, now: number): Bucket {
  const most = perSecond * TOKEN
  if (!bucket) return { level: most, at: now }
  const elapsed = Math.min(Math.max(now - bucket.at, 0), FULL_MS)
  return { level: Math.min(bucket.level + elapsed * perSecond, most), at: now }
}

/** Takes a token from a refilled bucket. Pure. */
export function takeToken(bucket: Bucket, perSecond: number): { bucket: Bucket; allowance: Allowance } {
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

/**
 * @param given.perSecond requests per second, an integer of at least 1; also the burst size. A function if the rate can
 * change
 */
export function createRateLimiter({
  clock,
  ...given
}: {
  clock: Clock
  perSecond: number | (() => number)
}): RateLimiter {
  const current = () => (typeof given.perSecond === 'number' ? given.perSecond : given.perSecond())
  const buckets = new Map<string, Bucket>()

  function forgetIdle(now: number): void {
    for (const [teamId, { at }] of buckets) if (now - at >= FULL_MS) buckets.delete(teamId)
  }

  return {
    get perSecond() {
      return current()
    },
    take(teamId) {
      const now = clock.now()
      const perSecond = current()
      const { bucket, allowance } = takeToken(refillBucket(buckets.get(teamId), perSecond, now), perSecond)
      buckets.set(teamId, bucket)
      if (buckets.size > REMEMBERED) forgetIdle(now)
      return allowance
    },
  }
}
