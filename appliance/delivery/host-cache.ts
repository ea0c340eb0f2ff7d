import { LRUCache } from 'lru-cache'
import type { HandshakeKind } from './tls.ts'

/** How long an IP that didn't respond is tried only after all other IPs, in milliseconds. */
export const UNRESPONSIVE_MS = 5 * 60_000
/**
 * How long the ClientHello that worked is tried first, in milliseconds; after that, the full one again. Plaintext has
 * the shortest time: someone who can disrupt one handshake must not disable encryption for days. Hosts that don't offer
 * STARTTLS aren't remembered.
 */
const HELLO_MS: Record<Exclude<HandshakeKind, 'full'>, number> = { reduced: 3 * 86_400_000, none: 3_600_000 }
/** How long to remember the number of recipients after which a host hung up, in milliseconds. */
const RECIPIENTS_MS = 3_600_000
/** How long to remember that a host failed with pipelined commands, in milliseconds. */
const PIPELINING_MS = 12 * 3_600_000
/**
 * Entries of each kind; the least recently used is dropped first. About 1 MB per kind when full. A limit given as `max`
 * would allocate all entries at startup.
 */
const BOUND = { maxSize: 10_000, sizeCalculation: () => 1 }

/** A host at an IP. */
export interface HostAddress {
  host: string
  ip: string
}

/**
 * What previous connections revealed about hosts. Kept in memory only, because relearning it costs one connection.
 * Times are Unix milliseconds.
 */
export interface HostMemory {
  /** Records that nothing responded at an IP: no TCP connection, or no greeting. */
  died(ip: string, now: number): void
  /** Records that an IP sent a greeting. */
  lives(ip: string): void
  /** Moves dead IPs to the end; otherwise keeps the order of preference (RFC 5321 §5.1). */
  order<T extends string | { ip: string }>(addresses: readonly T[], now: number): T[]
  /** Returns the ClientHello to start with, and when that was learned; `full` when unknown. */
  hello(place: HostAddress, now: number): { hello: HandshakeKind; since: number | null }
  /** Records what worked after a larger ClientHello failed: a smaller one, or plaintext. */
  learn(place: HostAddress, hello: Exclude<HandshakeKind, 'full'>, now: number): void
  /** Records that the full ClientHello works. */
  forget(place: HostAddress): void
  /**
   * Records that the host accepted this many recipients in one transaction and replied 421 to the next, which may
   * happen again.
   */
  tookOnly(place: HostAddress, recipients: number, now: number): void
  /** Records that the host hung up or stalled on pipelined commands although it offers PIPELINING (RFC 2920). */
  brokePipelining(place: HostAddress, now: number): void
  /** Whether commands to this host may be pipelined. */
  pipelines(place: HostAddress, now: number): boolean
  /** Returns how many recipients each of these hosts is known to accept per transaction. */
  mostRecipients(places: readonly HostAddress[], now: number): number
}

/**
 * Returns the key of a host, made of its name and IP. The handshake depends on the SNI name, and anyone can publish a
 * name for someone else's IP, where its handshake fails. That must not disable TLS for the real name.
 */
const keyOf = ({ host, ip }: HostAddress): string => `${host.toLowerCase()} ${ip}`

/** Creates an empty memory. */
export function createHostMemory(): HostMemory {
  const dead = new LRUCache<string, number>(BOUND)
  const hellos = new LRUCache<string, { hello: Exclude<HandshakeKind, 'full'>; since: number }>(BOUND)
  const unpipelined = new LRUCache<string, number>(BOUND)
  const recipients = new LRUCache<string, { most: number; since: number }>(BOUND)

  const isDead = (ip: string, now: number): boolean => {
    const since = dead.get(ip)
    if (since === undefined) return false
    if (now - since < UNRESPONSIVE_MS) return true
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
      if (now - known.since < HELLO_MS[known.hello]) return known
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
