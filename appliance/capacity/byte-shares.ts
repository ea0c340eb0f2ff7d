/**
 * Divides octets of memory or disk space among teams and strangers, so that one client's unfinished requests can't use
 * up the space that others need. No I/O.
 */
import { getSourceNetwork } from '../wire/networks.ts'

/** The team or network that octets are charged to. */
export interface Owner {
  /** ID of the team; null for a stranger, who is counted by network. */
  teamId: string | null
  ip: string
}

/** Limits in octets. */
export interface ShareLimits {
  total: number
  /** Limit of one team. */
  team: number
  /** Limit of all strangers together, and of one network. */
  strangers: number
  perStranger: number
}

export interface MemoryShares {
  /** Takes octets from the owner's share. Returns false and takes none when not enough are left. */
  take(owner: Owner, octets: number): boolean
  give(owner: Owner, octets: number): void
  figures(): { used: number; limit: number; refused: number }
}

export function createMemoryShares(limits: ShareLimits): MemoryShares {
  const held = new Map<string, number>()
  let [total, strangers, refused] = [0, 0, 0]
  const keyOf = ({ teamId, ip }: Owner): string => teamId ?? `ip ${getSourceNetwork(ip, 48)}`
  const fits = (owner: Owner, octets: number): boolean => {
    const mine = (held.get(keyOf(owner)) ?? 0) + octets
    if (total + octets > limits.total) return false
    if (owner.teamId !== null) return mine <= limits.team
    return mine <= limits.perStranger && strangers + octets <= limits.strangers
  }
  const change = (owner: Owner, octets: number): void => {
    const key = keyOf(owner)
    const next = (held.get(key) ?? 0) + octets
    if (next > 0) held.set(key, next)
    else held.delete(key)
    total += octets
    if (owner.teamId === null) strangers += octets
  }
  return {
    take(owner, octets) {
      if (!fits(owner, octets)) {
        refused++
        return false
      }
      change(owner, octets)
      return true
    },
    give: (owner, octets) => change(owner, -octets),
    figures: () => ({ used: total, limit: limits.total, refused }),
  }
}
