/** How much mail one network, and all together, may bring. Counts only; no I/O. */
import type { Clock } from '../clock/clock.ts'
import { sourceNetwork } from '../wire/networks.ts'

/** Messages within a window, which begins with the first of them. */
export interface RateLimit {
  windowMs: number
  /** One IPv4 address, or one /64 of IPv6. */
  perNetwork: number
  inAll: number
}

export interface Rate {
  /** Counts a message of this address and returns 0, or returns the seconds to wait and counts nothing. */
  take(ip: string): number
}

/** Networks that are counted at once; beyond, the oldest are forgotten. */
const REMEMBERED = 10_000
/** The count of all networks. */
const ALL = ''

export function createRate(clock: Pick<Clock, 'now'>, { windowMs, perNetwork, inAll }: RateLimit): Rate {
  const windows = new Map<string, { count: number; until: number }>()
  const current = (key: string) => {
    const found = windows.get(key)
    return found && found.until > clock.now() ? found : { count: 0, until: clock.now() + windowMs }
  }
  const secondsLeft = (key: string, most: number): number => {
    const { count, until } = current(key)
    return count < most ? 0 : Math.ceil((until - clock.now()) / 1000)
  }
  const add = (key: string): void => {
    const { count, until } = current(key)
    // To the end of the map's order: the oldest are forgotten.
    windows.delete(key)
    windows.set(key, { count: count + 1, until })
  }
  return {
    take(ip) {
      const network = sourceNetwork(ip)
      const seconds = Math.max(secondsLeft(ALL, inAll), secondsLeft(network, perNetwork))
      if (seconds > 0) return seconds
      add(network)
      add(ALL)
      for (const oldest of windows.keys()) {
        if (windows.size <= REMEMBERED) break
        windows.delete(oldest)
      }
      return 0
    },
  }
}
