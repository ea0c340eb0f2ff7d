/** Information about this daemon: start time, listeners and storage. */
import { hostname } from 'node:os'
import { systemClock, type Clock } from '../clock/clock.ts'
import type { Config } from '../config/config.ts'
import type { NodeFacts, NodeView } from '../mail/node.ts'
import { toNodeViews } from '../mail/node-view.ts'
import { refuse } from '../mail/refusals.ts'
import { buildFreeLeasesArgs } from '../queue/schedule.ts'
import type { HttpDeps } from '../http/http.ts'
import type { Storage } from '../storage/storage.ts'
import type { HealthChecks } from '../watch/health.ts'
import { databaseName } from './postgres.ts'
import { schemaVersion } from './storage.ts'
import { VERSION } from './version.ts'

/** The actual listeners of a daemon: HTTP as origins, SMTP and DNS as `host:port`. */
export interface DaemonListeners {
  http: readonly string[]
  metrics: readonly string[]
  smtp: { starttls: readonly string[]; implicitTls: readonly string[] }
  dns: readonly string[]
}

/** Collects the information while the daemon starts. */
export interface NodeInfoCollector {
  facts(): NodeFacts
  /** Called when all listeners are open. */
  listening(doors: DaemonListeners): void
}

/** A version of the program, and its PostgreSQL migrations. */
export interface ProgramVersion {
  version: string
  /** Folder of the migrations; undefined: those of this program. */
  migrations: string | undefined
}

/** Opens the node information of this process. @param sandbox whether it uses the simulated internet */
export function createNodeInfoCollector(
  config: Config,
  clock: Clock,
  { sandbox, program }: { sandbox: boolean; program: ProgramVersion | undefined },
): NodeInfoCollector {
  const startedAt = clock.now()
  const { region: target, after_seconds: seconds } = config.failover
  const schema = schemaVersion(config, program?.migrations)
  let listeners: string[] = []
  return {
    facts: () => ({
      hostname: config.hostname,
      version: program?.version ?? VERSION,
      runtime: process.version,
      sandbox,
      region: config.region ?? null,
      failover: target === undefined ? null : { region: target, afterMs: seconds * 1000 },
      startedAt,
      listeners,
      storage: {
        engine: config.storage.engine,
        dataDir: config.data_dir,
        database: isShared(config) ? databaseName(config) : null,
        schema,
      },
    }),
    listening: (doors) => void (listeners = toOrigins(doors)),
  }
}

/** Whether other nodes may use the same storage. */
export const isShared = ({ storage }: Pick<Config, 'storage'>): boolean => storage.engine === 'postgres'

/**
 * Returns a function that lists all nodes of the database; undefined with SQLite. Uses real time, as heartbeats do.
 * @param nodeId this node; null if it doesn't matter which one it is
 */
export function createNodeReader(
  config: Config,
  storage: Pick<Storage, 'listNodes'>,
  nodeId: string | null,
): (() => Promise<NodeView[]>) | undefined {
  if (!isShared(config)) return undefined
  return async () => {
    const now = systemClock.now()
    return toNodeViews(await storage.listNodes({}, now), nodeId, now)
  }
}

interface NodeListDeps {
  config: Config
  storage: Pick<Storage, 'forgetNode' | 'listNodes' | 'listSources'>
  node: NodeInfoCollector
  nodeId: string
  health: Pick<HealthChecks, 'ready'>
  /** Real time, as in heartbeats. */
  clock: Pick<Clock, 'now'>
  deliveryClock: Pick<Clock, 'now'>
}

/** Lists and removes nodes of the database. With SQLite, this process is the only one. */
export function createNodeList(deps: NodeListDeps): Pick<HttpDeps['node'], 'list' | 'forget'> {
  const { config, storage, node, nodeId, health, clock, deliveryClock } = deps
  const alone = async (): Promise<NodeView> => ({
    ...node.facts(),
    id: nodeId,
    name: hostname(),
    state: 'active',
    heartbeatAt: null,
    current: true,
    sources: (await storage.listSources({}, clock.now())).map(({ ip }) => ip),
    ready: true,
    reasons: [],
  })
  const all = async (): Promise<NodeView[]> =>
    isShared(config)
      ? toNodeViews(await storage.listNodes({}, clock.now()), nodeId, clock.now())
      : [await alone()]
  return {
    async forget(id) {
      const named = (await all()).find((one) => one.id === id)
      if (!named) throw refuse('not_found', { resource: `Node ${id}` })
      const freeing = buildFreeLeasesArgs(deliveryClock.now())
      const forgotten = isShared(config) && (await storage.forgetNode({ id, ...freeing }, clock.now()))
      if (!forgotten) throw refuse('node_alive', { name: named.name })
    },
    async list() {
      const nodes = await all()
      const { ok, reasons } = await health.ready()
      return nodes.map((one) => (one.current ? { ...one, ready: ok, reasons } : one))
    },
  }
}

/** Returns all listeners as origins. */
export const toOrigins = ({ http, metrics, smtp, dns }: DaemonListeners): string[] => [
  ...http,
  ...metrics,
  ...smtp.starttls.map((address) => `smtp://${address}`),
  ...smtp.implicitTls.map((address) => `smtps://${address}`),
  ...dns.map((address) => `dns://${address}`),
]
