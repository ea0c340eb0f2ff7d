import type { Clock } from '../clock/clock.ts'

/** A code is one of a million and three are right at any time: 480 tries a day find one in two years, half of the time. */
const MOST_WRONG = 5
const WINDOW = 15 * 60_000
/** People remembered; the oldest are forgotten first, so that memory is bounded. Only who knows a password gets in here. */
const REMEMBERED = 10_000

/** Holds back guessing of codes, for each person. */
export interface WrongCodes {
  /** Counts a try before it is looked at, so that many at once gain nothing. Returns 0, or the seconds to wait. */
  attempt(userId: string): number
  /** The code was right: the try does not count. */
  right(userId: string): void
}

export function createWrongCodes(clock: Clock): WrongCodes {
  const counts = new Map<string, { wrong: number; until: number }>()
  return {
    attempt(userId) {
      const now = clock.now()
      const known = counts.get(userId)
      const count = known && known.until > now ? known : { wrong: 0, until: now + WINDOW }
      if (count.wrong >= MOST_WRONG) return Math.ceil((count.until - now) / 1000)
      counts.delete(userId)
      counts.set(userId, { ...count, wrong: count.wrong + 1 })
      for (const oldest of counts.keys()) {
        if (counts.size <= REMEMBERED) break
        counts.delete(oldest)
      }
      return 0
    },
    right(userId) {
      const known = counts.get(userId)
      if (known) counts.set(userId, { ...known, wrong: Math.max(0, known.wrong - 1) })
    },
  }
}
