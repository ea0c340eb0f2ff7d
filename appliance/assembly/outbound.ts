/** Opens everything that sends mail: delivery, TLS policies, reports and sending IPs. */
import { systemClock } from '../clock/clock.ts'
import type { Storage } from '../storage/storage.ts'
import { createDelivery, type Delivery, type DeliveryDeps } from '../delivery/delivery.ts'
import { createReporter } from '../reports/reports.ts'
import { createFailover, type SourceRegistry } from '../sources/sources.ts'
import type { Duties } from '../watch/duties.ts'
import { openSourceWatcher, openTlsPolicies, openTlsReporter } from './adapters.ts'
import { deliveryOptions } from './options.ts'
import type { LiveTables } from './tables.ts'
import { createNodeReader, isShared } from './node.ts'
import { domainPollOptions, type SharedResources } from './foundations.ts'

/**
 * How long a stop waits for SMTP conversations in flight: longer than they usually take, and well within systemd's 90
 * seconds.
 */
const DRAIN_MS = 15_000

/** Starts delivery, and the reports that it records as due. */
async function startDelivery(
  deps: DeliveryDeps & { storage: Storage; duties: Duties },
  started: AsyncDisposableStack,
): Promise<Delivery> {
  const { log } = deps
  const { hostname, pollMs } = deps.options
  const onReportDue = (): void => reporter.wake()
  const delivery = createDelivery({ ...deps, options: { ...deps.options, onReportDue } })
  const wake = (): void => delivery.wake()
  const reporter = createReporter({ ...deps, hostname, onStored: wake, pollMs })
  await delivery.start()
  started.defer(async () => {
    const left = await delivery.stop(DRAIN_MS)
    if (left > 0)
      log.warn({ attempts: left }, 'attempts in flight were interrupted; they are retried after the start')
  })
  reporter.start()
  started.defer(() => reporter.stop())
  return delivery
}

/** The parts that send mail. */
export interface OutboundDelivery {
  delivery: Delivery
  policies: ReturnType<typeof openTlsPolicies>
}

/** Starts delivery and the reports about it. */
export async function openOutboundDelivery(
  ground: SharedResources,
  tables: LiveTables,
): Promise<OutboundDelivery> {
  const { config, options, log, clock, started, storage, sandbox, resolver } = ground
  const port = sandbox?.deliveryPort ?? config.delivery.port
  const { owner, nodeId, heartbeat } = ground
  // On a single node, no other node takes over, so conversations may finish.
  const mayBeTakenOver = () => heartbeat.alive() > 1 && heartbeat.fenced() !== null
  const way = {
    ...deliveryOptions(config, tables),
    port,
    owner,
    pollMs: options.pollMs,
    fenced: () => heartbeat.fenced(),
    mayBeTakenOver,
    nodeId: isShared(config) ? nodeId : undefined,
  }
  const told = { ...options.policyHosts, deliveryPort: port }
  const policies = openTlsPolicies(config, { storage, resolver, clock, log }, told)
  started.defer(() => policies.stop())
  const delivery = await startDelivery({ ...ground, policies, options: way }, started)
  heartbeat.heed({
    fenced: () => mayBeTakenOver() && delivery.cut(),
    freed: () => delivery.wake(),
  })
  const onStored = (): void => delivery.wake()
  const tlsReporter = openTlsReporter(config, { ...ground, onStored }, told)
  started.defer(() => tlsReporter.stop())
  policies.start()
  tlsReporter.start()
  return { delivery, policies }
}

/** Starts moving the mail of lost regions. With SQLite, there is only one node. */
export function watchRegions(ground: SharedResources, delivery: Delivery): void {
  const { config, storage, nodeId, clock, log, duties, started } = ground
  const listNodes = createNodeReader(config, storage, nodeId)
  if (listNodes === undefined) return
  const onMoved = (): void => delivery.wake()
  const deps = { storage, listNodes, clock: systemClock, deliveryClock: clock, log, duties, onMoved }
  const failover = createFailover(deps)
  started.defer(() => failover.stop())
  failover.start()
}

/** Starts the hourly checks of the sending IPs. */
export function watchSources(
  ground: SharedResources,
  book: SourceRegistry,
  delivery: Delivery,
  tables: LiveTables,
): void {
  const { config, log, clock, started, storage, resolver } = ground
  const { blocklists } = tables
  const watching = { ...domainPollOptions(ground), blocklists, onChange: () => delivery.changed() }
  const watcher = openSourceWatcher(config, { storage, book, resolver, clock, log }, watching)
  started.defer(() => watcher.stop())
  watcher.start()
}
