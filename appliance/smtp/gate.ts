/** Who is kept out for a while: too many errors, too many wrong keys. Counts only; no I/O. */
import type { Clock } from '../clock/clock.ts'
import { refuse, type Refusal } from '../mail/refusals.ts'
import { sourceNetwork } from '../wire/networks.ts'

export interface Gate {
  /** Why an address may not connect now; null: it may. */
  banned(ip: string): Refusal | null
  /** Notes a refused command. */
  fault(ip: string): void
  /**
   * Whether a key may be looked at. Wrong tries from elsewhere with the same prefix only delay: whoever has the key must get in.
   * @param prefix `keyPrefix` of the password
   */
  mayTry(ip: string, prefix: string): Refusal | null
  /** Notes a wrong key and returns how long the answer has to wait, in milliseconds. */
  failed(ip: string, prefix: string): number
  succeeded(ip: string, prefix: string): void
}

/** Time in which failures are counted, from the first one, and for which the ban then lasts. */
const WINDOW_MS = 15 * 60_000
const MAX_FAILURES = 10
/** Refused commands of all connections of an address within the window. */
const MAX_FAULTS = 500
/** Longest wait before "wrong key" is said; the first takes a quarter of a second, each further one twice as long. */
const MAX_DELAY_MS = 8000
const FIRST_DELAY_MS = 250
/** How long an address that signed in with a key is known to hold it. */
const KNOWN_MS = 24 * 3_600_000
/** Entries of each table; the oldest are forgotten first. */
const REMEMBERED = 20_000

export function createGate(clock: Clock): Gate {
  const failures = createTally(clock, WINDOW_MS)
  const faults = createTally(clock, WINDOW_MS)
  const known = createTally(clock, KNOWN_MS)
  const holder = (network: string, prefix: string) => `${network} ${prefix}`

  const tooMany = (key: string): Refusal | null =>
    failures.count(key) < MAX_FAILURES
      ? null
      : refuse('too_many_attempts', { seconds: failures.secondsLeft(key) })

  return {
    banned(ip) {
      const network = sourceNetwork(ip)
      if (faults.count(network) >= MAX_FAULTS)
        return refuse('too_many_attempts', { seconds: faults.secondsLeft(network) })
      // Someone behind the same address has a good key: each sign-in is judged for itself then.
      return known.count(network) > 0 ? null : tooMany(network)
    },
    fault: (ip) => void faults.add(sourceNetwork(ip)),
    mayTry(ip, prefix) {
      const network = sourceNetwork(ip)
      // A stranger who tries a key on purpose must not lock out those who hold it.
      if (prefix !== '' && known.count(holder(network, prefix)) > 0) return null
      return tooMany(network)
    },
    failed(ip, prefix) {
      const counts = [failures.add(sourceNetwork(ip)), prefix === '' ? 0 : failures.add(prefix)]
      return Math.min(FIRST_DELAY_MS * 2 ** (Math.max(...counts) - 1), MAX_DELAY_MS)
    },
    succeeded(ip, prefix) {
      const network = sourceNetwork(ip)
      known.add(network)
      known.add(holder(network, prefix))
    },
  }
}

interface Tally {
  /** Returns the new count. */
  add(key: string): number
  count(key: string): number
  secondsLeft(key: string): number
}

/** Counts by key; each count is forgotten `windowMs` after its first. */
function createTally(clock: Clock, windowMs: number): Tally {
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
