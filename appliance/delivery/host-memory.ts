import { LRUCache } from 'lru-cache'
import type { Hello } from './tls.ts'

/** An address that could not be talked to is tried after all others for so long, in milliseconds. */
export const DEAD_MS = 5 * 60_000
/** What TLS a host was found to be able to do is tried first for so long, in milliseconds; then all of it again. */
const HELLO_MS = 3 * 86_400_000
/** How many recipients a host took before it hung up is remembered for so long, in milliseconds. */
const RECIPIENTS_MS = 3_600_000
/** That a host broke off when commands were sent together is remembered for so long, in milliseconds. */
const PIPELINING_MS = 12 * 3_600_000
/**
 * Entries of each kind; the least recently used goes first. About 1 MB for each kind when it is full, none before:
 * given as a number of entries (`max`), the memory would be taken at the start.
 */
const BOUND = { maxSize: 10_000, sizeCalculation: () => 1 }

/** A host at an address. */
export interface Place {
  host: string
  ip: string
}

/**
 * What was learnt of hosts, for a while: in memory, since all of it is found out again at the price of a connection.
 * Times are Unix milliseconds.
 */
export interface HostMemory {
  /** Nothing answered there, at TCP or with a greeting. */
  died(ip: string, now: number): void
  /** It greeted us. */
  lives(ip: string): void
  /** Dead addresses last; otherwise the order stays, which is the order of preference (RFC 5321 §5.1). */
  order<T extends string | { ip: string }>(addresses: readonly T[], now: number): T[]
  /** The ClientHello to begin with, and when it was found out; `full` where nothing is remembered. */
  hello(place: Place, now: number): { hello: Hello; since: number | null }
  /** What worked after a fuller one had failed. */
  learn(place: Place, hello: Exclude<Hello, 'full'>, now: number): void
  /** The full one works. */
  forget(place: Place): void
  /** It said 421 to the recipient after so many of one transaction: it may do so again. */
  tookOnly(place: Place, recipients: number, now: number): void
  /** It hung up or fell silent over commands that were sent together, although it offers PIPELINING (RFC 2920). */
  brokePipelining(place: Place, now: number): void
  /** Whether commands may be sent to it together. */
  pipelines(place: Place, now: number): boolean
  /** Recipients that each of these hosts is known to take in one transaction. */
  mostRecipients(places: readonly Place[], now: number): number
}

/**
 * By name and address: the handshake depends on the name that is said in it, and anybody can publish a name of his own for somebody
 * else's address, at which its handshake fails. That must not take TLS away from the name under which the others find it.
 */
const keyOf = ({ host, ip }: Place): string => `${host.toLowerCase()} ${ip}`

/** A memory without anything in it. */
export function createHostMemory(): HostMemory {
  const dead = new LRUCache<string, number>(BOUND)
  const hellos = new LRUCache<string, { hello: Exclude<Hello, 'full'>; since: number }>(BOUND)
  const unpipelined = new LRUCache<string, number>(BOUND)
  const recipients = new LRUCache<string, { most: number; since: number }>(BOUND)

  const isDead = (ip: string, now: number): boolean => {
    const since = dead.get(ip)
    if (since === undefined) return false
    if (now - since < DEAD_MS) return true
    dead.delete(ip)
    return false
  }

  return {
    died: (ip, now) => void dead.set(ip, now),
    lives: (ip) => void dead.delete(ip),
    order(addresses, now) {
      const sorted = Map.groupBy(addresses, (one) => isDead(typeof one === 'string' ? one : one.ip, now))
      return [...(sorted.get(false) ?? []), ...(sorted.get(true) ?? [])]
    },
    hello(place, now) {
      const known = hellos.get(keyOf(place))
      if (!known) return { hello: 'full', since: null }
      if (now - known.since < HELLO_MS) return known
      hellos.delete(keyOf(place))
      return { hello: 'full', since: null }
    },
    learn(place, hello, now) {
      hellos.set(keyOf(place), { hello, since: now })
    },
    forget: (place) => void hellos.delete(keyOf(place)),
    tookOnly: (place, most, now) => void recipients.set(keyOf(place), { most, since: now }),
    brokePipelining: (place, now) => void unpipelined.set(keyOf(place), now),
    pipelines: (place, now) => now - (unpipelined.get(keyOf(place)) ?? -Infinity) >= PIPELINING_MS,
    mostRecipients(places, now) {
      const known = places.map((place) => recipients.get(keyOf(place)))
      return Math.min(...known.map((one) => (one && now - one.since < RECIPIENTS_MS ? one.most : Infinity)))
    },
  }
}
