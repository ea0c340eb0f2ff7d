/** Decides when the mail of a region leaves from another one, because all nodes of the region are gone. Pure. */
import type { NodeView } from './node.ts'
import { getMainPool, listPoolsOfRegion, type RegionMap } from './region.ts'

/**
 * The nodes of a region that send its mail. Nodes without sending IPs are left out, unless all nodes of the region are
 * such nodes.
 */
export interface RegionNodes {
  region: string
  /** Names of the nodes that are alive. */
  alive: string[]
  /** Names of the nodes that are stopped or lost. */
  gone: string[]
  /** When the last node was seen, in Unix milliseconds; null while one is alive. */
  lostAt: number | null
  /** The settings of the node that was seen last; null: its mail waits. */
  failover: NodeView['failover']
}

type KnownNode = Pick<NodeView, 'name' | 'state' | 'heartbeatAt' | 'region' | 'failover' | 'sources'>

/** Groups nodes by region, by name. Nodes without a region are in none. */
export function groupNodes(nodes: readonly KnownNode[]): RegionNodes[] {
  const groups = Map.groupBy(
    nodes.filter(({ region }) => region !== null),
    ({ region }) => region!,
  )
  const all = [...groups].map(([region, members]): RegionNodes => {
    const isGone = ({ state }: KnownNode): boolean => state === 'stopped' || state === 'lost'
    const senders = members.filter(({ sources }) => sources.length > 0)
    const own = senders.length > 0 ? senders : members
    const [last] = own.toSorted((a, b) => (b.heartbeatAt ?? Infinity) - (a.heartbeatAt ?? Infinity))
    return {
      region,
      alive: own.filter((one) => !isGone(one)).map(({ name }) => name),
      gone: own.filter(isGone).map(({ name }) => name),
      lostAt: own.every(isGone) ? last!.heartbeatAt : null,
      failover: last!.failover,
    }
  })
  return all.toSorted((a, b) => (a.region < b.region ? -1 : 1))
}

/** A region to fail over. */
export interface FailoverStart {
  region: string
  target: string
  /** When the last node of the region was seen, in Unix milliseconds. */
  lostAt: number
}

/** The changes to make. */
export interface FailoverDecision {
  begin: FailoverStart[]
  /** Regions whose mail leaves from them again. */
  end: string[]
}

/**
 * Decides which regions to fail over and which to restore. A region is failed over if all its nodes have been gone for
 * the time that they chose, and the other region has a pool and a node that is alive. It is restored when a node of it
 * is alive, or when it has no pool anymore.
 * @param now Unix milliseconds, by the clock of heartbeats
 * @param watchedSince since when the caller has read the nodes without a gap. After an outage of the database, all
 *   heartbeats are old, and nodes need a moment to renew theirs
 */
export function decideFailovers(
  nodes: readonly KnownNode[],
  regions: RegionMap,
  now: number,
  watchedSince: number,
): FailoverDecision {
  const groups = groupNodes(nodes)
  const isAlive = (region: string): boolean =>
    groups.some((one) => one.region === region && one.alive.length > 0)
  const active = new Set(regions.failovers.map(({ region }) => region))
  const begin = groups.flatMap(({ region, lostAt, failover }): FailoverStart[] => {
    if (active.has(region) || lostAt === null || failover === null) return []
    const { region: target, afterMs } = failover
    if (now - Math.max(lostAt, watchedSince) < afterMs || target === region || !isAlive(target)) return []
    if (listPoolsOfRegion(regions, region).length === 0 || getMainPool(regions, target) === undefined)
      return []
    return [{ region, target, lostAt }]
  })
  const end = [...active].filter(
    (region) => isAlive(region) || listPoolsOfRegion(regions, region).length === 0,
  )
  return { begin, end }
}
