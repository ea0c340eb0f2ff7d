/**
 * Rate-limits clients without a valid key or session: a token bucket per network, shared by all listeners. Requests
 * with a valid key or session use no tokens. Only counts; no I/O.
 */
import { getSteadyTime, type Clock } from '../clock/clock.ts'
import { getSourceNetwork } from '../wire/networks.ts'
import type { KnownNetworks } from './connections.ts'
import { createLoopQueue } from './loop.ts'

export interface Budgets {
  /**
   * Takes tokens for a request or command, 1 by default. Returns 0, or the seconds until enough tokens are available.
   */
  take(ip: string, tokens?: number): number
  /** Takes tokens for a large response, even more than are left, because the response is already being sent. */
  charge(ip: string, octets: number): void
  /**
   * Resolves when a delayed refusal may be sent. Because of the delay, clients that retry immediately use a connection
   * but hardly any CPU time, however many there are.
   */
  hold(): Promise<void>
  figures(): { refused: number }
}

/** Number of tokens added per second, and size of the bucket. */
interface Allowance {
  perSecond: number
  most: number
}

/**
 * Allowance of unknown networks. A first visit to the dashboard requests a few dozen files, and several people may
 * share an address.
 */
const STRANGERS: Allowance = { perSecond: 25, most: 500 }
/**
 * Allowance of networks where someone signed in recently, such as offices, or machines that also run a program with a
 * key.
 */
const KNOWN: Allowance = { perSecond: 250, most: 5000 }
/** Response size covered by one token, in octets; each further chunk of this size costs another token. */
const OCTETS = 64 * 1024
/** How long a refusal is delayed, in milliseconds. */
export const REFUSAL_DELAY_MS = 1000
/**
 * Minimum time between two refusals across all clients, in milliseconds, so that hundreds that arrived together are
 * spread out.
 */
const APART_MS = 3
/**
 * Maximum number of refusals per turn of the event loop when it runs late. Each may end a hundred pipelined requests.
 */
const AT_ONCE = 4
/** Maximum number of networks to remember; the least recently used is dropped first. */
const REMEMBERED = 20_000

/** Number of tokens that a network has used, as of a steady-clock time. */
interface Account {
  used: number
  at: number
}

/**
 * Creates the budgets.
 * @param known networks with a larger budget
 */
export function createBudgets(clock: Clock, known: KnownNetworks): Budgets {
  const accounts = new Map<string, Account>()
  let refused = 0
  const inLine = createLoopQueue(AT_ONCE)
  /** Steady-clock time at which the last delayed refusal is sent. */
  let released = 0
  /** Computes what the network has used of its allowance as of now. */
  const look = (network: string): { used: number; allowance: Allowance } => {
    const allowance = known.has(network) ? KNOWN : STRANGERS
    const account = accounts.get(network)
    if (!account) return { used: 0, allowance }
    const seconds = Math.max(0, getSteadyTime(clock) - account.at) / 1000
    return { used: Math.max(0, account.used - seconds * allowance.perSecond), allowance }
  }
  const keep = (network: string, used: number): void => {
    // Delete first, so that the map stays in order of use.
    accounts.delete(network)
    accounts.set(network, { used, at: getSteadyTime(clock) })
    if (accounts.size > REMEMBERED) accounts.delete(accounts.keys().next().value!)
  }
  return {
    take(ip, tokens = 1) {
      const network = getSourceNetwork(ip, 48)
      const { used, allowance } = look(network)
      const missing = used + tokens - allowance.most
      if (missing > 0) {
        refused++
        return Math.max(1, Math.ceil(missing / allowance.perSecond))
      }
      keep(network, used + tokens)
      return 0
    },
    charge(ip, octets) {
      const tokens = Math.floor(octets / OCTETS)
      if (tokens === 0) return
      const network = getSourceNetwork(ip, 48)
      const { used, allowance } = look(network)
      keep(network, Math.min(used + tokens, 2 * allowance.most))
    },
    hold() {
      const now = getSteadyTime(clock)
      released = Math.max(released + APART_MS, now + REFUSAL_DELAY_MS)
      return new Promise((resolve) => void clock.after(released - now, () => inLine(resolve)))
    },
    figures: () => ({ refused }),
  }
}
