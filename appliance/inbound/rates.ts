/** Limits how many messages one network, and all networks together, may send. No I/O. */
import type { Clock } from '../clock/clock.ts'
import { createThrottle } from '../clock/throttle.ts'
import { getSourceNetwork } from '../wire/networks.ts'

/** Maximum number of messages in a window, which begins with the first message. */
export interface RateLimit {
  windowMs: number
  /** Limit for one IPv4 address or one IPv6 /64. */
  perNetwork: number
  inAll: number
}

export interface NetworkRateLimiter {
  /** Counts a message from this address and returns 0. At the limit, counts nothing and returns the seconds to wait. */
  take(ip: string): number
}

/** The key for all networks together. */
const ALL = ''

export function createNetworkRateLimiter(
  clock: Pick<Clock, 'now'>,
  { windowMs, perNetwork, inAll }: RateLimit,
): NetworkRateLimiter {
  const networks = createThrottle(clock, perNetwork, windowMs)
  const all = createThrottle(clock, inAll, windowMs)
  return {
    take(ip) {
      const network = getSourceNetwork(ip)
      const seconds = Math.max(all.wait(ALL), networks.wait(network))
      return seconds || all.attempt([ALL]) || networks.attempt([network])
    },
  }
}
