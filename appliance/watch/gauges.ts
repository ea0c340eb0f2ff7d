/** Gauges that are updated when metrics are read. */
import { Gauge, Counter, Histogram, type Registry } from 'prom-client'

/**
 * The values of the gauges. The length of every list is limited by the configuration, and doesn't depend on the mail.
 */
export interface GaugeValues {
  spool: { waiting: number; held: number; inFlight: number; oldestSeconds: number; dueSeconds: number }
  lanes: { source: string; provider: string; connections: number; perMinute: number; paused: boolean }[]
  sources: { source: string; pool: string; active: boolean }[]
  /** Unix seconds. */
  certificates: { file: string; endsAt: number }[]
  /** Numbers of broadcasts that are scheduled or being sent. */
  broadcasts: { scheduled: number; sending: number; paused: number }
  /** Open alerts of all teams. */
  alerts: { kind: string; scope: string; count: number }[]
  /** Free and total bytes of the file system with the data directory; null if unknown. */
  disk: { free: number; size: number } | null
  storage: { commits: number; calls: number; waiting: number } | null
  /**
   * Number of Posthaste's connections to its database server, number of all connections in use, and their maximum; null
   * with SQLite.
   */
  database: { own: number; used: number; most: number } | null
  /** Number of nodes that share the database, by state; empty with SQLite. */
  nodes: Record<string, number>
  /** Queued deliveries by pool. `region` is empty for pools without one. */
  pools: { pool: string; region: string; state: string; count: number }[]
  /** Sending IPs by node: where the mail of a pool leaves from. `region` is empty for nodes without one. */
  nodeSources: { node: string; region: string; source: string; pool: string; alive: boolean }[]
  /** Usage of each limited resource by clients, and refusals. */
  capacity: ClientUsage
}

/** Current usage by the clients of all listeners, and the number of refusals since the start. */
export interface ClientUsage {
  connections: { listener: string; open: number; unknown: number; senders: number; limit: number }[]
  /** Octets. */
  bytes: { what: string; used: number; limit: number }[]
  refused: { what: string; why: string; count: number }[]
}

/** Replaces all series of a gauge, so that series without a value disappear. */
function setAll<L extends string>(gauge: Gauge<L>, rows: [labels: Record<L, string>, value: number][]): void {
  gauge.reset()
  for (const [labels, value] of rows) gauge.set(labels, value)
}

function createStorageGauges({
  gauge,
}: Pick<MetricFactory, 'gauge'>): (standing: Pick<GaugeValues, 'storage' | 'database' | 'nodes'>) => void {
  const commits = gauge('storage_commits', 'Commits since startup')
  const committed = gauge('storage_committed_calls', 'Writes since startup; one commit can hold several')
  const waitingCalls = gauge('storage_waiting_calls', 'Storage calls without a result yet')
  const connections = gauge('database_connections', 'Connections to the PostgreSQL server', ['what'])
  const nodes = gauge('nodes', 'Nodes that share the PostgreSQL database', ['state'])
  return (standing) => {
    setAll(
      nodes,
      Object.entries(standing.nodes).map(([state, count]) => [{ state }, count]),
    )
    if (standing.storage) {
      commits.set(standing.storage.commits)
      committed.set(standing.storage.calls)
      waitingCalls.set(standing.storage.waiting)
    }
    const server = standing.database
    setAll(
      connections,
      server
        ? [
            [{ what: 'own' }, server.own],
            [{ what: 'used' }, server.used],
            [{ what: 'most' }, server.most],
          ]
        : [],
    )
  }
}

function createLaneGauges(
  { gauge }: Pick<MetricFactory, 'gauge'>,
  known: (provider: string) => boolean,
): (all: GaugeValues['lanes']) => void {
  const laneConnections = gauge('lane_connections', 'Connections allowed for a lane', ['source', 'provider'])
  const lanePerMinute = gauge('lane_messages_per_minute', 'Messages a minute allowed for a lane', [
    'source',
    'provider',
  ])
  const lanePaused = gauge('lane_paused', '1 while a lane is paused', ['source', 'provider'])
  return (all) => {
    const lanes = all.filter(({ provider }) => known(provider))
    const of = ({ source, provider }: GaugeValues['lanes'][number]) => ({ source, provider })
    setAll(
      laneConnections,
      lanes.map((lane) => [of(lane), lane.connections]),
    )
    setAll(
      lanePerMinute,
      lanes.map((lane) => [of(lane), lane.perMinute]),
    )
    setAll(
      lanePaused,
      lanes.map((lane) => [of(lane), lane.paused ? 1 : 0]),
    )
  }
}

function createCapacityGauges({
  gauge,
}: Pick<MetricFactory, 'gauge'>): (standing: GaugeValues['capacity']) => void {
  const connections = gauge('client_connections', 'Open client connections', ['listener', 'what'])
  const bytes = gauge('client_bytes', 'Memory and disk space used by client requests', ['what'])
  const byteLimits = gauge('client_bytes_limit', 'Upper limit of memory and disk space for client requests', [
    'what',
  ])
  const refused = gauge('client_refusals', 'Connections and requests refused since startup', ['what', 'why'])
  return (capacity) => {
    setAll(
      connections,
      capacity.connections.flatMap(({ listener, open, unknown, senders, limit }) => [
        [{ listener, what: 'open' }, open],
        [{ listener, what: 'unknown' }, unknown],
        [{ listener, what: 'senders' }, senders],
        [{ listener, what: 'limit' }, limit],
      ]),
    )
    setAll(
      bytes,
      capacity.bytes.map(({ what, used }) => [{ what }, used]),
    )
    setAll(
      byteLimits,
      capacity.bytes.map(({ what, limit }) => [{ what }, limit]),
    )
    setAll(
      refused,
      capacity.refused.map(({ what, why, count }) => [{ what, why }, count]),
    )
  }
}

function createAlertGauge({ gauge }: Pick<MetricFactory, 'gauge'>): (all: GaugeValues['alerts']) => void {
  const alerts = gauge('alerts', 'Open alerts of all teams, and of the server', ['kind', 'scope'])
  return (all) =>
    setAll(
      alerts,
      all.map(({ kind, scope, count }) => [{ kind, scope }, count]),
    )
}

function createSourceGauges({
  gauge,
}: Pick<MetricFactory, 'gauge'>): (standing: Pick<GaugeValues, 'sources' | 'pools' | 'nodeSources'>) => void {
  const sources = gauge('source_active', '1 for a sending IP in use, 0 for a suspended one', [
    'source',
    'pool',
  ])
  const pools = gauge('pool_deliveries', 'Queued deliveries by pool and its region', [
    'pool',
    'region',
    'state',
  ])
  const nodeSources = gauge(
    'node_source_active',
    "1 for a sending IP whose node is alive, 0 for one whose node is stopped or lost, with the node's region",
    ['node', 'region', 'source', 'pool'],
  )
  return (standing) => {
    setAll(
      sources,
      standing.sources.map(({ source, pool, active }) => [{ source, pool }, active ? 1 : 0]),
    )
    setAll(
      pools,
      standing.pools.map(({ count, ...labels }) => [labels, count]),
    )
    setAll(
      nodeSources,
      standing.nodeSources.map(({ alive, ...labels }) => [labels, alive ? 1 : 0]),
    )
  }
}

/**
 * @param known whether a provider's lanes have their own series; there are as many other providers as recipient domains
 */
export function createGauges(
  { gauge }: MetricFactory,
  known: (provider: string) => boolean,
): (standing: GaugeValues) => void {
  const spool = gauge('spool_deliveries', 'Queued deliveries', ['state'])
  const oldest = gauge(
    'spool_oldest_seconds',
    'Age of the oldest queued delivery that is not held and is due or was attempted',
  )
  const due = gauge('spool_due_seconds', 'Due time of the next delivery to attempt')
  const showLanes = createLaneGauges({ gauge }, known)
  const broadcasts = gauge('broadcasts', 'Broadcasts that are scheduled, being sent or paused', ['state'])
  const showAlerts = createAlertGauge({ gauge })
  const showCapacity = createCapacityGauges({ gauge })
  const showSources = createSourceGauges({ gauge })
  const certificates = gauge('certificate_expiry_timestamp_seconds', 'Expiry time of a certificate', ['file'])
  const disk = gauge('disk_bytes', "Size and free space of the data directory's file system", ['what'])
  const showStorage = createStorageGauges({ gauge })

  return (standing) => {
    const { waiting, held, inFlight, oldestSeconds, dueSeconds } = standing.spool
    setAll(spool, [
      [{ state: 'waiting' }, waiting],
      [{ state: 'held' }, held],
      [{ state: 'in_flight' }, inFlight],
    ])
    oldest.set(oldestSeconds)
    due.set(dueSeconds)
    showLanes(standing.lanes)
    setAll(
      broadcasts,
      Object.entries(standing.broadcasts).map(([state, count]) => [{ state }, count]),
    )
    showAlerts(standing.alerts)
    showCapacity(standing.capacity)
    showSources(standing)
    setAll(
      certificates,
      standing.certificates.map(({ file, endsAt }) => [{ file }, endsAt]),
    )
    const space = standing.disk
    setAll(
      disk,
      space
        ? [
            [{ what: 'free' }, space.free],
            [{ what: 'size' }, space.size],
          ]
        : [],
    )
    showStorage(standing)
  }
}

export interface MetricFactory {
  counter: <L extends string>(name: string, help: string, labels?: L[]) => Counter<L>
  gauge: <L extends string>(name: string, help: string, labels?: L[]) => Gauge<L>
  /** @param buckets upper bounds, in seconds */
  histogram: <L extends string>(name: string, help: string, buckets: number[], labels?: L[]) => Histogram<L>
}

/** Creates counters, gauges and histograms in a registry. */
export function createMetricFactory(registry: Registry): MetricFactory {
  const registers = [registry]
  return {
    counter: (name, help, labelNames = []) =>
      new Counter({ name: `posthaste_${name}`, help, labelNames, registers }),
    gauge: (name, help, labelNames = []) =>
      new Gauge({ name: `posthaste_${name}`, help, labelNames, registers }),
    histogram: (name, help, buckets, labelNames = []) =>
      new Histogram({ name: `posthaste_${name}`, help, buckets, labelNames, registers }),
  }
}
