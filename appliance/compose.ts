/**
 * The object graph, built by hand in reading order. The only file that knows which adapters are real.
 */
import { join } from 'node:path'
import { openFetch, openResolver, openStorage, openSubmission, type OpenSubmission } from './adapters.ts'
import { createAccounts, type Accounts } from './accounts/accounts.ts'
import { systemClock, type Clock } from './clock/clock.ts'
import { loadPlans, type Config } from './config/config.ts'
import { createDelivery, type DeliveryDeps } from './delivery/delivery.ts'
import type { ResolverOptions } from './dns/resolver.ts'
import { createHttp } from './http/http.ts'
import { createIntake, createSchedules } from './intake/intake.ts'
import { newId } from './mail/ids.ts'
import { createReporter } from './reports/reports.ts'
import { startSandbox, type Sandbox } from './sandbox/sandbox.ts'
import { createQuotas, createRateLimiter, createSenders, type Senders } from './senders/senders.ts'
import { lockDataDir } from './storage/sqlite/sqlite.ts'
import type { Storage } from './storage/storage.ts'
import { startHousekeeping } from './watch/housekeeping.ts'
import type { Logger } from './watch/log.ts'
import { parseNetworks, type Cidr } from './wire/networks.ts'
import { VERSION } from './version.ts'

export { CannotStart } from './wire/listeners.ts'

/** A running daemon. */
export interface Appliance {
  /** Origin of the first HTTP listener, with the port it really got. */
  url: string
  storage: Storage
  senders: Senders
  accounts: Accounts
  sandbox: Sandbox | null
  /** Where SMTP is spoken. */
  smtp: Pick<OpenSubmission, 'starttls' | 'implicitTls'>
  /** Takes nothing new, lets what is in flight finish, closes the storage. */
  stop(): Promise<void>
}

export interface ComposeOptions {
  log: Logger
  clock?: Clock
  /** Runs against the built-in internet instead of the real one. */
  sandbox?: boolean
  /** Called when the storage died under the daemon, which can then only end. */
  onLost?: (error: Error) => void
  /** Overrides for the resolver. */
  resolver?: Partial<ResolverOptions>
  /** Networks from which attachments may be fetched although they are not public. */
  fetchNetworks?: readonly Cidr[]
  /** How often the spool is looked at for changes of other processes, in milliseconds. Default 1000. */
  pollMs?: number
}

/** How long a stop waits for conversations in flight: past the usual ones, within systemd's 90 seconds. */
const DRAIN_MS = 20_000

/** The built dashboard. */
const DASHBOARD = join(import.meta.dirname, '..', 'ui', 'dist')

function deliveryOptions({ hostname, delivery }: Config) {
  return {
    hostname,
    sourceIps: delivery.source_ips,
    allowNetworks: parseNetworks(delivery.allow_networks),
    maxConnections: delivery.max_connections,
    maxConnectionsPerDomain: delivery.max_connections_per_domain,
  }
}

function httpOptions({ hostname, limits, http, logs }: Config) {
  const { trust_proxy: trustProxy, public_url: publicUrl } = http
  return {
    hostname,
    version: VERSION,
    messageBytes: limits.message_bytes,
    trustProxy,
    publicUrl,
    logApiUse: logs.retention_days > 0,
  }
}

/** Domains wait for people and DNS: a minute is soon enough. */
const domainPolls = ({ pollMs = 0 }: ComposeOptions) => ({ pollMs: Math.max(60_000, pollMs) })

/** The door out, and the reports that fall due there. Returns what tells it that there is something to deliver. */
async function startDelivery(deps: DeliveryDeps, started: AsyncDisposableStack): Promise<() => void> {
  const { log } = deps
  const { hostname, pollMs } = deps.options
  const onReportDue = (): void => reporter.wake()
  const delivery = createDelivery({ ...deps, options: { ...deps.options, onReportDue } })
  const wake = (): void => delivery.wake()
  const reporter = createReporter({ ...deps, hostname, onStored: wake, pollMs })
  await delivery.start()
  started.defer(async () => {
    const left = await delivery.stop(DRAIN_MS)
    if (left > 0) log.warn({ attempts: left }, 'stopped with attempts in flight; they will be tried again')
  })
  reporter.start()
  started.defer(() => reporter.stop())
  return wake
}

/** Builds and starts the daemon. Rejects when anything is missing or taken; then nothing is left running. */
export async function compose(config: Config, options: ComposeOptions): Promise<Appliance> {
  const { log, clock = systemClock } = options
  await using started = new AsyncDisposableStack()
  const host = { hostname: config.hostname, sourceIps: config.delivery.source_ips }

  const plans = loadPlans(config.limits.plans)
  const lock = await lockDataDir(config.data_dir)
  started.defer(() => lock.release())
  const storage = await openStorage(config, options.onLost)
  started.defer(() => storage.close())

  const sandbox = options.sandbox ? await startSandbox({ config, storage, clock }) : null
  if (sandbox) started.defer(() => sandbox.close())
  const resolver = openResolver(config, clock, sandbox?.resolver ?? options.resolver)
  started.defer(() => resolver.close())

  const accounts = createAccounts({ storage, clock })
  const senders = createSenders({ storage, resolver, clock, config: host, log, ...domainPolls(options) })
  started.defer(() => senders.close())
  if (sandbox) await sandbox.open({ accounts, senders, resolver })

  const port = sandbox?.deliveryPort ?? config.delivery.port
  const way = { ...deliveryOptions(config), port, owner: newId(clock.now()), pollMs: options.pollMs }
  const wake = await startDelivery({ storage, resolver, clock, log, options: way }, started)
  const quotas = createQuotas({ storage, clock, plans })
  const rateLimiter = createRateLimiter({ clock, perSecond: config.limits.rate_per_second })
  const fetch = openFetch(resolver, clock, { allowNetworks: options.fetchNetworks })
  const intake = createIntake({ storage, senders, quotas, fetch, clock, limits: config.limits, wake })
  started.defer(() => intake.close())

  const schedules = createSchedules({ storage, clock, wake })
  const doors = {
    storage,
    schedules,
    accounts,
    senders,
    quotas,
    rateLimiter,
    intake,
    clock,
    log,
    sandboxInbox: sandbox?.inbox,
  }
  const http = await createHttp({ ...doors, config: httpOptions(config), dashboard: DASHBOARD })
  started.defer(() => http.close())
  const [url] = await http.listen(config.http.listen)
  const smtp = await openSubmission(config, {
    senders,
    rateLimiter,
    intake,
    requestLog: http.requestLog,
    clock,
    log,
  })
  started.defer(() => smtp.close())
  senders.watch()
  const housekeeping = startHousekeeping({ storage, clock, log, logDays: config.logs.retention_days })
  started.defer(() => housekeeping.stop())

  // Everything runs: from here on stopping is the caller's.
  const running = started.move()
  return { url: url!, storage, senders, accounts, sandbox, smtp, stop: () => running.disposeAsync() }
}
