/** How much mail one network, and all together, may bring. Counts only; no I/O. */
import type { Clock } from '../clock/clock.ts'
import { createThrottle } from '../clock/throttle.ts'
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

/** The key of all networks together. */
const ALL = ''

export function createRate(clock: Pick<Clock, 'now'>, { windowMs, perNetwork, inAll }: RateLimit): Rate {
  const networks = createThrottle(clock, perNetwork, windowMs)
  const all = createThrottle(clock, inAll, windowMs)
  return {
    take(ip) {
      const network = sourceNetwork(ip)
      const seconds = Math.max(all.wait(ALL), networks.wait(network))
      return seconds || all.attempt([ALL]) || networks.attempt([network])
    },
  }
}
