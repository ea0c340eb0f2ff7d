import type { Clock } from '../clock/clock.ts'

/** Counts attempts by what they have in common. */
export interface Throttle {
  /** Notes an attempt under each key. Returns 0, or the seconds to wait when one key had too many. */
  attempt(keys: string[]): number
}

/** Keys remembered; the oldest are forgotten first, so that memory is bounded. */
const REMEMBERED = 20_000

/** Allows `most` attempts for each key within `windowMs`, counted from its first. */
export function createThrottle(clock: Clock, most: number, windowMs: number): Throttle {
  const counts = new Map<string, { attempts: number; until: number }>()
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
      for (const oldest of counts.keys()) {
        if (counts.size <= REMEMBERED) break
        counts.delete(oldest)
      }
      return Math.max(0, ...waits)
    },
  }
}
