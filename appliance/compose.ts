/**
 * Builds the object graph by hand, in reading order. Besides assembly/, this is the only file that imports the real
 * adapters.
 */
import { join } from 'node:path'
import type { RunningDaemon, ComposeOptions } from './assembly/appliance.ts'
import { formatCapacityRows } from './assembly/monitoring.ts'
import { retentionPeriods } from './assembly/options.ts'
import { type LiveTables, openTables } from './assembly/tables.ts'
import type { Config } from './config/config.ts'
import type { Delivery } from './delivery/delivery.ts'
import { startHousekeeping } from './housekeeping/housekeeping.ts'
import type { Certificates } from './wire/certificates.ts'
import { openEntryPoints } from './assembly/entry-points.ts'
import { domainPollOptions, openSharedResources, openAccountsAndSenders } from './assembly/foundations.ts'
import { openOutboundDelivery, watchRegions, watchSources } from './assembly/outbound.ts'

export type { RunningDaemon, ComposeOptions } from './assembly/appliance.ts'
export { StartupError } from './wire/listeners.ts'

/** Folder of the built dashboard. */
const DASHBOARD = join(import.meta.dirname, '..', 'ui', 'dist')

/** Reloads the parts that a running daemon can replace, and applies them to the lanes. */
async function reloadParts(tables: LiveTables, book: Certificates, delivery: Delivery): Promise<Error[]> {
  const refused = tables.reread()
  const steps = [book.reload(), delivery.change(async () => undefined)]
  const results = await Promise.allSettled(steps)
  return [...refused, ...results.flatMap((one) => (one.status === 'rejected' ? [one.reason as Error] : []))]
}

/** Builds and starts the daemon. Rejects if anything is missing or in use; then nothing is left running. */
export async function compose(config: Config, options: ComposeOptions): Promise<RunningDaemon> {
  await using started = new AsyncDisposableStack()
  const tables = openTables(config)

  const ground = await openSharedResources(config, { dashboard: DASHBOARD, ...options }, started, tables)
  const people = await openAccountsAndSenders(ground)
  const out = await openOutboundDelivery(ground, tables)
  const { url, http, smtp, dns, metrics, certificates } = await openEntryPoints(ground, people, out, tables)

  people.senders.watch()
  watchSources(ground, people.book, out.delivery, tables)
  watchRegions(ground, out.delivery)
  ground.events.start()
  const { log, clock, storage, sandbox } = ground
  const housekeeping = startHousekeeping({
    storage,
    clock,
    log,
    logDays: config.logs.retention_days,
    webhookDays: config.webhooks.retention_days,
    auditDays: config.retention.audit_days,
    retention: retentionPeriods(config),
    duties: ground.duties,
    ...domainPollOptions(ground),
  })
  started.defer(() => housekeeping.stop())

  // All parts are running. From here on, the caller must stop them.
  const running = started.move()
  const { accounts, senders } = people
  const stop = async (): Promise<void> => {
    await ground.heartbeat.leave()
    await running.disposeAsync()
  }
  const alive = () => ground.health.alive()
  const clients = () => formatCapacityRows(ground.capacity.figures())
  const reload = () => reloadParts(tables, certificates, out.delivery)
  return { url, http, storage, senders, accounts, sandbox, smtp, dns, metrics, alive, clients, reload, stop }
}
