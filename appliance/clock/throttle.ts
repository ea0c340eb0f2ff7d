import type { Clock } from './clock.ts'

/** Limits attempts per key. */
export interface Throttle {
  /** Counts an attempt under each key if all of them allow one more. Returns 0, or the seconds to wait. */
  attempt(keys: string[]): number
  /** Returns the seconds until this key allows another attempt; 0 when it does now. Counts nothing. */
  wait(key: string): number
  /** Removes an attempt from the count. */
  takeBack(key: string): void
}

/** Maximum number of keys, to bound memory. */
const REMEMBERED = 20_000
/** How many keys to keep when there are more. */
const KEPT = 15_000

interface Count {
  attempts: number
  until: number
}

/**
 * Allows `most` attempts per key within `windowMs` of its first attempt.
 * @param most a function if it changes
 */
export function createThrottle(
  clock: Pick<Clock, 'now'>,
  most: number | (() => number),
  windowMs: number,
): Throttle {
  const counts = new Map<string, Count>()
  const current = (key: string): Count => {
    const known = counts.get(key)
    return known && known.until > clock.now() ? known : { attempts: 0, until: clock.now() + windowMs }
  }
  const wait = (key: string): number => {
    const { attempts, until } = current(key)
    return attempts < (typeof most === 'number' ? most : most()) ? 0 : Math.ceil((until - clock.now()) / 1000)
  }
  const change = (key: string, by: number): void => {
    const { attempts, until } = current(key)
    counts.delete(key)
    counts.set(key, { attempts: attempts + by, until })
  }
  return {
    wait,
    attempt(keys) {
      const waits = keys.map((key) => {
        const seconds = wait(key)
        if (seconds === 0) change(key, 1)
        return seconds
      })
      if (counts.size > REMEMBERED) forget(counts, clock.now())
      return Math.max(0, ...waits)
    },
    takeBack(key) {
      if (current(key).attempts > 0) change(key, -1)
    },
  }
}

/**
 * Drops expired keys, then those with the fewest attempts, oldest first. Trying many keys once therefore never resets
 * one that was tried often.
 */
function forget(counts: Map<string, Count>, now: number): void {
  for (const [key, { until }] of counts) if (until <= now) counts.delete(key)
  const fewest = [...counts].sort(([, one], [, other]) => one.attempts - other.attempts)
  for (const [key] of fewest.slice(0, Math.max(0, counts.size - KEPT))) counts.delete(key)
}
