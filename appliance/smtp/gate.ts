/** Temporarily bans networks after too many errors or wrong keys. Counts are in memory; no I/O. */
import type { Clock } from '../clock/clock.ts'
import { refuse, type Refusal } from '../mail/refusals.ts'
import { getSourceNetwork } from '../wire/networks.ts'

export interface NetworkBans {
  /** Returns why an IP may not connect now; null if it may. */
  banned(ip: string): Refusal | null
  /** Counts a refused command. */
  fault(ip: string): void
  /**
   * Returns why a key may not be checked now; null if it may. Failures from other networks for the same prefix only add
   * a delay, so that the owner of the key can always sign in.
   * @param prefix `getKeyPrefix` of the password
   */
  mayTry(ip: string, prefix: string): Refusal | null
  /** Counts a wrong key and returns how long to delay the reply, in milliseconds. */
  failed(ip: string, prefix: string): number
  succeeded(ip: string, prefix: string): void
}

/** How long failures are counted after the first one, in milliseconds. A ban also ends after that time. */
const WINDOW_MS = 15 * 60_000
const MAX_FAILURES = 10
/** Maximum number of refused commands from a network within this time, on all its connections. */
const MAX_FAULTS = 500
/**
 * Maximum delay before a wrong key is refused, in milliseconds. The delay starts at 250 ms and doubles with each
 * failure.
 */
const MAX_DELAY_MS = 8000
const FIRST_DELAY_MS = 250
/**
 * How long a network is remembered as a user of a key after a client in it authenticated with the key, in milliseconds.
 */
const KNOWN_MS = 24 * 3_600_000
/** Minimum share of a node, so that one mistake bans no network. */
const LEAST_FAILURES = 3
/** Maximum number of entries per table. The oldest are dropped first. */
const REMEMBERED = 20_000

/**
 * Creates the bans.
 * @param share divides a limit among the nodes, because each node counts separately
 */
export function createNetworkBans(
  clock: Clock,
  share: (limit: number) => number = (limit) => limit,
): NetworkBans {
  const failures = createCounter(clock, WINDOW_MS)
  const faults = createCounter(clock, WINDOW_MS)
  const known = createCounter(clock, KNOWN_MS)
  const holder = (network: string, prefix: string) => `${network} ${prefix}`

  const tooMany = (key: string): Refusal | null =>
    failures.count(key) < Math.max(LEAST_FAILURES, share(MAX_FAILURES))
      ? null
      : refuse('too_many_attempts', { seconds: failures.secondsLeft(key) })

  return {
    banned(ip) {
      const network = getSourceNetwork(ip)
      if (faults.count(network) >= share(MAX_FAULTS))
        return refuse('too_many_attempts', { seconds: faults.secondsLeft(network) })
      // Somebody in this network has a valid key, so failures don't ban the whole network.
      return known.count(network) > 0 ? null : tooMany(network)
    },
    fault: (ip) => void faults.add(getSourceNetwork(ip)),
    mayTry(ip, prefix) {
      const network = getSourceNetwork(ip)
      // Somebody who guesses keys must not lock out the owners of the key.
      if (prefix !== '' && known.count(holder(network, prefix)) > 0) return null
      return tooMany(network)
    },
    failed(ip, prefix) {
      const counts = [failures.add(getSourceNetwork(ip)), prefix === '' ? 0 : failures.add(prefix)]
      return Math.min(FIRST_DELAY_MS * 2 ** (Math.max(...counts) - 1), MAX_DELAY_MS)
    },
    succeeded(ip, prefix) {
      const network = getSourceNetwork(ip)
      known.add(network)
      known.add(holder(network, prefix))
    },
  }
}

interface Counter {
  /** Increments the count of a key and returns the new count. */
  add(key: string): number
  count(key: string): number
  secondsLeft(key: string): number
}

/** Counts by key; each count expires `windowMs` after its first increment. */
function createCounter(clock: Clock, windowMs: number): Counter {
  const counts = new Map<string, { count: number; until: number }>()
  const current = (key: string) => {
    const found = counts.get(key)
    return found && found.until > clock.now() ? found : undefined
  }
  return {
    add(key) {
      const { count, until } = current(key) ?? { count: 0, until: clock.now() + windowMs }
      counts.delete(key)
      counts.set(key, { count: count + 1, until })
      for (const oldest of counts.keys()) {
        if (counts.size <= REMEMBERED) break
        counts.delete(oldest)
      }
      return count + 1
    },
    count: (key) => current(key)?.count ?? 0,
    secondsLeft: (key) => Math.max(1, Math.ceil(((current(key)?.until ?? 0) - clock.now()) / 1000)),
  }
}
