/** What is remembered of visits for a moment, in memory: repeated ones are folded, hurried and excessive ones noticed. */

/** The same program asking for the same thing again is the same visit (milliseconds). */
const FOLD = 60_000
/** Within this time links are "followed at once" (milliseconds). */
const HASTE = 5000
/** Visits of one email that are recorded within a minute: beyond, somebody only wants to fill the disk. */
const MOST = 300
/** Entries remembered of each kind; the oldest are forgotten first. */
const REMEMBERED = 20_000

export interface VisitMemory {
  /** Whether this very visit was noted within the last minute; notes it otherwise. */
  repeated(visit: string, now: number): boolean
  /** How many different links of this email this address followed in the last seconds, this one included. */
  links(who: string, link: string, now: number): number
  /** Whether the email was visited too often within a minute to record more. */
  excessive(emailId: string, now: number): boolean
}

/** Remembers nothing at first. */
export function createVisitMemory(): VisitMemory {
  const seen = new Map<string, { until: number }>()
  const hurry = new Map<string, { until: number; links: Set<string> }>()
  const counts = new Map<string, { until: number; visits: number }>()
  return {
    repeated(visit, now) {
      if (current(seen, visit, now)) return true
      remember(seen, visit, { until: now + FOLD })
      return false
    },
    links(who, link, now) {
      const entry = current(hurry, who, now) ?? { until: now + HASTE, links: new Set<string>() }
      if (entry.links.size < 100) entry.links.add(link)
      remember(hurry, who, entry)
      return entry.links.size
    },
    excessive(emailId, now) {
      const entry = current(counts, emailId, now) ?? { until: now + FOLD, visits: 0 }
      entry.visits += 1
      remember(counts, emailId, entry)
      return entry.visits > MOST
    },
  }
}

function current<T extends { until: number }>(map: Map<string, T>, key: string, now: number): T | undefined {
  const entry = map.get(key)
  return entry && entry.until > now ? entry : undefined
}

function remember<T>(map: Map<string, T>, key: string, entry: T): void {
  map.delete(key)
  map.set(key, entry)
  for (const oldest of map.keys()) {
    if (map.size <= REMEMBERED) return
    map.delete(oldest)
  }
}
