/** Computes the readings of alerts about regions. Pure. */
import type { AlertReading } from '../mail/alert.ts'
import { groupNodes, type RegionNodes } from '../mail/failover.ts'
import type { NodeView } from '../mail/node.ts'
import { listPoolsOfRegion, type RegionMap } from '../mail/region.ts'

/** Returns a reading for each region that has nodes and pools: 1 if all its nodes are stopped or lost. */
export function regionReadings(nodes: readonly NodeView[], regions: RegionMap): AlertReading[] {
  return groupNodes(nodes)
    .filter(({ region }) => listPoolsOfRegion(regions, region).length > 0)
    .map((group) => ({
      scope: 'server',
      kind: 'region',
      subject: { type: 'region', id: group.region, name: group.region },
      value: group.lostAt === null ? 0 : 1,
      limit: null,
      note: group.lostAt === null ? 'At least one node is alive.' : describeLoss(group, regions),
    }))
}

function describeLoss({ region, gone, failover }: RegionNodes, { failovers }: RegionMap): string {
  const lost = `All nodes of ${region} are stopped or lost: ${gone.join(', ')}.`
  const active = failovers.find((one) => one.region === region)
  if (active) return `${lost} Its mail leaves from ${active.target}.`
  if (failover === null) return `${lost} Its mail waits, because fail-over is not configured.`
  const minutes = Number((failover.afterMs / 60_000).toFixed(1))
  return `${lost} Its mail waits. After ${minutes} minutes, it leaves from ${failover.region}, if a node and a pool are there.`
}
