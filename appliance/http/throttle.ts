import type { Clock } from '../clock/clock.ts'

/** Counts attempts by what they have in common. */
export interface Throttle {
  /** Notes an attempt under each key. Returns 0, or the seconds to wait when one key had too many. */
  attempt(keys: string[]): number
}

/** Keys remembered, so that memory is bounded. */
const REMEMBERED = 20_000
/** So many stay when there are more. */
const KEPT = 15_000

interface Count {
  attempts: number
  until: number
}

/** Allows `most` attempts for each key within `windowMs`, counted from its first. */
export function createThrottle(clock: Clock, most: number, windowMs: number): Throttle {
  const counts = new Map<string, Count>()
  return {
    attempt(keys) {
      const now = clock.now()
      const waits = keys.map((key) => {
        const known = counts.get(key)
        const count = known && known.until > now ? known : { attempts: 0, until: now + windowMs }
        counts.delete(key)
        counts.set(key, { ...count, attempts: count.attempts + 1 })
        return count.attempts < most ? 0 : Math.ceil((count.until - now) / 1000)
      })
      if (counts.size > REMEMBERED) forget(counts, now)
      return Math.max(0, ...waits)
    },
  }
}

/**
 * Forgets what is over, then keys with the fewest attempts, of those the oldest first: whoever tries many keys once frees none that was
 * tried often.
 */
function forget(counts: Map<string, Count>, now: number): void {
  for (const [key, { until }] of counts) if (until <= now) counts.delete(key)
  const fewest = [...counts].sort(([, one], [, other]) => one.attempts - other.attempts)
  for (const [key] of fewest.slice(0, Math.max(0, counts.size - KEPT))) counts.delete(key)
}
