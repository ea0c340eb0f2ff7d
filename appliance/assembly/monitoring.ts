/** Collects the state of the server for the metrics on demand: from the storage, the disk and the certificates. */
import { statfs } from 'node:fs/promises'
import type { Capacity, CapacityFigures } from '../capacity/capacity.ts'
import type { Clock } from '../clock/clock.ts'
import type { Config } from '../config/config.ts'
import { NODE_STATES } from '../mail/node.ts'
import { getPoolRegion, type RegionMap } from '../mail/region.ts'
import type { Source } from '../mail/source.ts'
import { readCertificates } from '../insights/insights.ts'
import type { ShapingOperations } from '../shaping/shaping.ts'
import type { DeliveryGroup, Storage } from '../storage/storage.ts'
import type { GaugeValues } from '../watch/metrics.ts'
import { createNodeReader } from './node.ts'

/** Numbers of queued deliveries by pool and state. */
type PoolCounts = Map<string, Record<DeliveryGroup['state'], number>>

/** Returns the free and total bytes of the data directory's file system; null if it can't be read. */
export async function readDiskSpace(dataDir: string): Promise<GaugeValues['disk']> {
  try {
    const { bavail, bsize, blocks } = await statfs(dataDir)
    return { free: bavail * bsize, size: blocks * bsize }
  } catch {
    // Some file systems don't report these values. The gauge is then absent.
    return null
  }
}

async function spoolOf(
  storage: Pick<Storage, 'surveyQueue' | 'nextDue'>,
  now: number,
): Promise<{ spool: GaugeValues['spool']; pools: PoolCounts }> {
  const due = (await storage.nextDue({ closed: [] }, now)) ?? now
  const dueSeconds = Math.max(0, (now - due) / 1000)
  const spool = { waiting: 0, held: 0, inFlight: 0, oldestSeconds: 0, dueSeconds }
  const pools: PoolCounts = new Map()
  let after: string | undefined
  do {
    const { groups, next } = await storage.surveyQueue({ after }, now)
    for (const { pool, state, count, oldestBegunAt } of groups) {
      const known = pools.get(pool) ?? { waiting: 0, held: 0, in_flight: 0 }
      known[state] += count
      pools.set(pool, known)
      spool[state === 'in_flight' ? 'inFlight' : state] += count
      if (state !== 'held' && oldestBegunAt !== null)
        spool.oldestSeconds = Math.max(spool.oldestSeconds, (now - oldestBegunAt) / 1000)
    }
    after = next ?? undefined
  } while (after !== undefined)
  return { spool, pools }
}

/** Formats the counts by pool, including pools without queued mail. */
function poolsOf(counts: PoolCounts, sources: readonly Source[], regions: RegionMap): GaugeValues['pools'] {
  const names = new Set([...sources.map(({ pool }) => pool), ...counts.keys()])
  return [...names].flatMap((pool) => {
    const region = getPoolRegion(regions, pool) ?? ''
    const states = Object.entries(counts.get(pool) ?? { waiting: 0, held: 0, in_flight: 0 })
    return states.map(([state, count]) => ({ pool, region, state, count }))
  })
}

async function certificatesOf(config: Config): Promise<GaugeValues['certificates']> {
  const read = await readCertificates(config)
  return read.flatMap(({ facts }) =>
    'certificate' in facts
      ? [{ file: facts.file, endsAt: Date.parse(facts.certificate.validTo) / 1000 }]
      : [],
  )
}

/** Formats client usage as rows for the metrics and `posthaste status`. */
export function formatCapacityRows({
  connections,
  octets,
  budgets,
}: CapacityFigures): GaugeValues['capacity'] {
  const listeners = Object.entries(connections)
  const bytes = Object.entries(octets)
  return {
    connections: listeners.map(([listener, { open, strangers, senders, limit }]) => ({
      listener,
      open,
      unknown: strangers,
      senders,
      limit,
    })),
    bytes: bytes.map(([what, { used, limit }]) => ({ what, used, limit })),
    refused: [
      ...listeners.flatMap(([what, { refused }]) =>
        Object.entries(refused).map(([why, count]) => ({ what, why, count })),
      ),
      ...bytes.map(([what, { refused }]) => ({ what, why: 'share', count: refused })),
      { what: 'requests', why: 'address_rate', count: budgets.refused },
    ],
  }
}

/** Counts the nodes by state, and lists their sending IPs. */
async function nodesOf(
  config: Config,
  storage: Pick<Storage, 'listNodes'>,
  sources: readonly Source[],
): Promise<Pick<GaugeValues, 'nodes' | 'nodeSources'>> {
  const nodes = await createNodeReader(config, storage, null)?.()
  if (nodes === undefined) return { nodes: {}, nodeSources: [] }
  const counts = NODE_STATES.map((state) => [state, nodes.filter((one) => one.state === state).length])
  const poolOf = new Map(sources.map(({ ip, pool }) => [ip, pool]))
  const nodeSources = nodes.flatMap(({ name, region, state, sources: ips }) =>
    ips.map((source) => ({
      node: name,
      region: region ?? '',
      source,
      pool: poolOf.get(source) ?? '',
      alive: state === 'active' || state === 'leaving',
    })),
  )
  return { nodes: Object.fromEntries(counts) as GaugeValues['nodes'], nodeSources }
}

/** Creates a function that collects all fields of `Standing`. */
export function createGaugeCollector(deps: {
  config: Config
  storage: Pick<
    Storage,
    | 'surveyQueue'
    | 'nextDue'
    | 'listSources'
    | 'countOpenBroadcasts'
    | 'countOpenAlerts'
    | 'databaseServer'
    | 'listNodes'
    | 'regionMap'
  >
  shaping: Pick<ShapingOperations, 'lanes'>
  clock: Clock
  capacity: Pick<Capacity, 'figures'>
  /** Statistics of the storage engine, if it counts them. */
  stats: (() => { commits: number; calls: number; waiting: number }) | undefined
}): () => Promise<GaugeValues> {
  const { config, storage, shaping, clock, capacity, stats } = deps
  return async () => {
    const now = clock.now()
    const [counted, lanes, sources, regions, broadcasts, alerts, certificates, disk, server] =
      await Promise.all([
        spoolOf(storage, now),
        shaping.lanes(),
        storage.listSources({}, now),
        storage.regionMap({}, now),
        storage.countOpenBroadcasts({}, now),
        storage.countOpenAlerts({}, now),
        certificatesOf(config),
        readDiskSpace(config.data_dir),
        storage.databaseServer(),
      ])
    const { spool, pools } = counted
    const { nodes, nodeSources } = await nodesOf(config, storage, sources)
    return {
      spool,
      pools: poolsOf(pools, sources, regions),
      nodeSources,
      broadcasts,
      alerts,
      certificates,
      disk,
      nodes,
      storage: stats?.() ?? null,
      database: server?.connections ?? null,
      capacity: formatCapacityRows(capacity.figures()),
      lanes: lanes.map(({ source, provider, allowed, paused }) => ({
        source,
        provider,
        paused: paused !== null,
        connections: allowed.connections,
        perMinute: allowed.messagesPerMinute,
      })),
      sources: sources.map(({ ip, pool, state }) => ({ source: ip, pool, active: state === 'active' })),
    }
  }
}
