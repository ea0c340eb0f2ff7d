/** Remembers recent visits in memory, to fold repeated ones and detect those that are too fast or too many. */

/** Requests of one program for the same link or pixel within this time count as one visit (milliseconds). */
const FOLD = 60_000
/** Period in which the links followed by an IP are counted, in milliseconds. */
const HASTE = 5000
/** Maximum number of visits recorded per email and minute. More would only be an attempt to fill the disk. */
const MOST = 300
/** Maximum number of remembered entries of each kind. The oldest are dropped first. */
const REMEMBERED = 20_000

export interface VisitMemory {
  /** Whether this visit was already recorded within the last minute. If not, records it. */
  repeated(visit: string, now: number): boolean
  /** Counts the different links of this email that this address followed in the last seconds, including this one. */
  links(who: string, link: string, now: number): number
  /** Whether the email had too many visits in the last minute to record more. */
  excessive(emailId: string, now: number): boolean
}

/** Creates an empty memory. */
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
