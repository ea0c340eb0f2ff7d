/**
 * How much clients may ask without a valid key or session: a token bucket for each network, shared by all listeners. Requests with a
 * valid key or session cost nothing here. Counts only; no I/O.
 */
import { steady, type Clock } from '../clock/clock.ts'
import { sourceNetwork } from '../wire/networks.ts'
import type { KnownNetworks } from './connections.ts'
import { createLoopLine } from './loop.ts'

export interface Budgets {
  /** Takes tokens for a request or command, 1 unless said otherwise. Returns 0, or the seconds after which there are so many again. */
  take(ip: string, tokens?: number): number
  /** Takes what a large answer costs, even if so much is not left: it has been decided on already. */
  charge(ip: string, octets: number): void
  /**
   * Resolves when a refusal that is held back may be said. Clients that ask again at once then cost a connection and hardly any
   * processor time, however many they are.
   */
  hold(): Promise<void>
  figures(): { refused: number }
}

/** Tokens that come in each second, and the most that there are. */
interface Allowance {
  perSecond: number
  most: number
}

/** A first visit to the dashboard asks for some dozens of files; several people may share an address. */
const STRANGERS: Allowance = { perSecond: 25, most: 500 }
/** For networks in which somebody has signed in lately: offices, and machines whose other programs have a key. */
const KNOWN: Allowance = { perSecond: 250, most: 5000 }
/** Octets of an answer that the first token pays for; each further such piece costs another. */
const OCTETS = 64 * 1024
/** How long a refusal is held back (milliseconds). */
export const HOLD_MS = 1000
/** Between two refusals, of all clients together (milliseconds): hundreds that began together do not end together. */
const APART_MS = 3
/** Refusals in one turn of the event loop, for when it is late: each may end a hundred requests that were sent ahead. */
const AT_ONCE = 4
/** Networks remembered; the one unused for longest is forgotten first. */
const REMEMBERED = 20_000

/** What a network has used, at that time by the steady clock. */
interface Account {
  used: number
  at: number
}

/** @param known networks with a larger budget */
export function createBudgets(clock: Clock, known: KnownNetworks): Budgets {
  const accounts = new Map<string, Account>()
  let refused = 0
  const inLine = createLoopLine(AT_ONCE)
  /** When the last refusal that is held back will be said. */
  let released = 0
  /** What is used now of the network's allowance. */
  const look = (network: string): { used: number; allowance: Allowance } => {
    const allowance = known.has(network) ? KNOWN : STRANGERS
    const account = accounts.get(network)
    if (!account) return { used: 0, allowance }
    const seconds = Math.max(0, steady(clock) - account.at) / 1000
    return { used: Math.max(0, account.used - seconds * allowance.perSecond), allowance }
  }
  const keep = (network: string, used: number): void => {
    // Deleted first, so that the map stays in the order of use.
    accounts.delete(network)
    accounts.set(network, { used, at: steady(clock) })
    if (accounts.size > REMEMBERED) accounts.delete(accounts.keys().next().value!)
  }
  return {
    take(ip, tokens = 1) {
      const network = sourceNetwork(ip, 48)
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
      const network = sourceNetwork(ip, 48)
      const { used, allowance } = look(network)
      keep(network, Math.min(used + tokens, 2 * allowance.most))
    },
    hold() {
      const now = steady(clock)
      released = Math.max(released + APART_MS, now + HOLD_MS)
      return new Promise((resolve) => void clock.after(released - now, () => inLine(resolve)))
    },
    figures: () => ({ refused }),
  }
}
