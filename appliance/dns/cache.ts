import { LRUCache } from 'lru-cache'
import type { Clock } from '../clock/clock.ts'
import type { Answer, RecordType } from './dns.ts'

/** Caches DNS answers for their TTL. */

/**
 * Bounds in seconds on how long an answer is cached, whatever its TTL.
 * found: with a TTL of 0, a burst to one domain would send a query per message; resolvers cap mistaken TTLs at a day.
 * absent: RFC 2308 §5 recommends one to three hours; this takes the shorter, because people fix what is missing, and
 * wait.
 * failed: RFC 9520 §3.2 requires at least a second; mail retries are minutes apart.
 */
const LIMITS = {
  found: { least: 5, most: 86_400 },
  absent: { least: 5, most: 3600 },
  failed: { least: 5, most: 5 },
}

/**
 * Bounds memory, in characters: a hostile zone can send 64 KiB of TXT for every name. Each entry counts as at least
 * 1/50,000 of it. A limit on the number of entries would allocate them all at startup.
 */
const MAX_SIZE = 32 * 1024 * 1024
const LEAST_SIZE = Math.ceil(MAX_SIZE / 50_000)

interface Entry {
  answer: Answer<RecordType>
  /** Unix milliseconds. */
  stored: number
  expires: number
}

/** A bounded cache of answers that also merges identical concurrent queries. */
export class AnswerCache {
  readonly #clock: Clock
  readonly #flights = new Map<string, Promise<Answer<RecordType>>>()
  readonly #entries = new LRUCache<string, Entry>({
    maxSize: MAX_SIZE,
    sizeCalculation: (entry, key) =>
      Math.max(LEAST_SIZE, 200 + key.length + JSON.stringify(entry.answer).length),
  })

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns the cached answer with its remaining TTL, or sends one query on behalf of all callers. */
  async get<T extends RecordType>(name: string, type: T, ask: () => Promise<Answer<T>>): Promise<Answer<T>> {
    const key = `${type} ${name}`
    // The key includes the type, so its value is an Answer<T>.
    const known = this.#fresh(key) as Answer<T> | undefined
    if (known) return known
    const flying = this.#flights.get(key) as Promise<Answer<T>> | undefined
    if (flying) return copy(await flying)
    const flight = ask()
    this.#flights.set(key, flight)
    try {
      const answer = await flight
      return copy(this.#store(key, answer) as Answer<T>)
    } finally {
      this.#flights.delete(key)
    }
  }

  #fresh(key: string): Answer<RecordType> | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    const now = this.#clock.now()
    // When the clock was set back, an entry would otherwise be kept too long.
    if (now >= entry.expires || now < entry.stored) {
      this.#entries.delete(key)
      return undefined
    }
    const left = Math.ceil((entry.expires - now) / 1000)
    return copy(withTtl(entry.answer, left))
  }

  #store(key: string, answer: Answer<RecordType>): Answer<RecordType> {
    const { least, most } = LIMITS[answer.kind]
    const seconds = 'ttl' in answer ? Math.min(Math.max(answer.ttl, least), most) : least
    const stored = this.#clock.now()
    const kept = withTtl(answer, seconds)
    this.#entries.set(key, { answer: kept, stored, expires: stored + seconds * 1000 })
    return kept
  }
}

function withTtl<T extends RecordType>(answer: Answer<T>, ttl: number): Answer<T> {
  return answer.kind === 'failed' ? answer : { ...answer, ttl }
}

/** Copies an answer, because callers sort and filter it, which must not change the cached list. */
function copy<T extends RecordType>(answer: Answer<T>): Answer<T> {
  return answer.kind === 'found' ? { ...answer, records: [...answer.records] } : answer
}
