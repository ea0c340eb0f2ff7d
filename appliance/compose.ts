/**
 * The object graph, built by hand in reading order. The only file that knows which adapters are real.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import {
  openDoctor,
  openEvents,
  openFetch,
  openResolver,
  openSourceBook,
  openSourceWatcher,
  openSmtp,
  openTlsPolicies,
  openTlsReporter,
} from './assembly/adapters.ts'
import { createAccounts, type Accounts } from './accounts/accounts.ts'
import { lockDirectory, openDaemonStorage } from './assembly/storage.ts'
import { openBroadcasts, withBroadcastMail } from './assembly/broadcasts.ts'
import type { Appliance, ComposeOptions } from './assembly/appliance.ts'
import {
  createAudience,
  createPreferencesTokens,
  PREFERENCES_PATH,
  type Audience,
  type PreferencesTokens,
} from './audience/audience.ts'
import { createCapacity, type Capacity } from './capacity/capacity.ts'
import { listenHttp, openCertified } from './assembly/certificates.ts'
import { systemClock, type Clock } from './clock/clock.ts'
import type { Config } from './config/config.ts'
import { createDelivery, type Delivery, type DeliveryDeps } from './delivery/delivery.ts'
import type { Events } from './events/events.ts'
import { openFirstRun } from './assembly/first-run.ts'
import { createHttp } from './http/http.ts'
import { createMetricsListener } from './http/metrics-listener.ts'
import { createSharedDoctor, viewCertificates } from './insights/insights.ts'
import type { SourceBook } from './sources/sources.ts'
import { createInboundDoor } from './inbound/door.ts'
import { createInbound } from './inbound/inbound.ts'
import { createIntake, createSchedules, type IntakeDeps } from './intake/intake.ts'
import { createMimeReader, type MimeReader } from './mime/mime.ts'
import { newId, ownerOf } from './mail/ids.ts'
import { capacityRows, createLook } from './assembly/monitoring.ts'
import { openNode } from './assembly/node.ts'
import {
  capacityOptions,
  importOptions,
  deliveryOptions,
  httpOptions,
  inboundOptions,
  intakeOptions,
  noticeOptions,
  retentionOf,
  retentionPeriods,
  roomOptions,
  submissionOptions,
} from './assembly/options.ts'
import { createReporter } from './reports/reports.ts'
import type { Sandbox, SandboxDeps } from './sandbox/sandbox.ts'
import { createShapingBook, type ShapingBook } from './shaping/shaping.ts'
import { createQueueControl } from './queue/queue.ts'
import {
  createErasures,
  createQuotas,
  createRateLimiter,
  createSenders,
  type Erasures,
  type Senders,
} from './senders/senders.ts'
import { makeRoomToStart, openReserve } from './storage/room.ts'
import type { Storage } from './storage/storage.ts'
import { createSubmission } from './submission/submission.ts'
import { createTemplates } from './templates/templates.ts'
import { createTracking, reachable, type Tracking } from './tracking/tracking.ts'
import { watchDescriptors } from './watch/descriptors.ts'
import { createDuties, type Duties } from './watch/duties.ts'
import { createHealth, type HealthChecks } from './watch/health.ts'
import { startHousekeeping } from './housekeeping/housekeeping.ts'
import type { Logger } from './watch/log.ts'
import { createInstruments, type Instruments } from './watch/metrics.ts'
import type { Certificates } from './wire/certificates.ts'
import { openSignInProviders } from './assembly/sign-in-providers.ts'
import { openTables, type LiveTables } from './assembly/tables.ts'
import { VERSION } from './assembly/version.ts'
import { createNotices } from './intake/notice.ts'

export type { Appliance, ComposeOptions } from './assembly/appliance.ts'
export { CannotStart } from './wire/listeners.ts'

/** How long a stop waits for conversations in flight: past the usual ones, well within systemd's 90 seconds. */
const DRAIN_MS = 15_000

/** The built dashboard. */
const DASHBOARD = join(import.meta.dirname, '..', 'ui', 'dist')

/** Domains wait for people and DNS: a minute is soon enough. */
const domainPolls = ({ pollMs = 0 }: ComposeOptions) => ({ pollMs: Math.max(60_000, pollMs) })

/** The same book; what people change in it holds for the next message. */
function heeded(book: SourceBook, changed: () => void): SourceBook {
  const then = async <T>(change: Promise<T>): Promise<T> => {
    const result = await change
    changed()
    return result
  }
  return {
    ...book,
    add: (source) => then(book.add(source)),
    change: (ip, change) => then(book.change(ip, change)),
    remove: (ip) => then(book.remove(ip)),
  }
}

/** What everything else stands on; what is opened is closed with `started`, the last first. */
interface Ground {
  config: Config
  options: ComposeOptions
  log: Logger
  clock: Clock
  started: AsyncDisposableStack
  storage: Storage
  /** This process, as leases name it. */
  owner: string
  duties: Duties
  sandbox: Sandbox | null
  resolver: ReturnType<typeof openResolver>
  events: Events
  instruments: Instruments
  health: HealthChecks
  /** What clients may use at once. */
  capacity: Capacity
  /** Reads messages. */
  mime: MimeReader
  /** Whether the disk of the data directory has more free space than the least. */
  hasRoom: () => Promise<boolean>
  /** Called with what composes the emails of broadcasts. */
  composed: ReturnType<typeof withBroadcastMail>['composed']
  /** Of the storage engine. */
  stats: () => { commits: number; calls: number }
}

/** Loaded where it is wanted: with its servers and verifiers it is a good part of the program. */
async function openSandbox(deps: SandboxDeps): Promise<Sandbox> {
  const { startSandbox } = await import('./sandbox/sandbox.ts')
  return startSandbox(deps)
}

async function openGround(
  config: Config,
  options: ComposeOptions,
  started: AsyncDisposableStack,
  { providers }: LiveTables,
): Promise<Ground> {
  const { log, clock = systemClock } = options
  const room = { ...roomOptions(config), clock, log }
  await makeRoomToStart(room)
  const lock = await lockDirectory(config)
  started.defer(() => lock.release())
  started.defer(watchDescriptors(log))
  const { leastFree } = room
  const reserve = await openReserve(room)
  started.defer(() => reserve.close())
  const freeBytes = () => reserve.freeBytes()
  const known = (id: string) => providers().providers.some((one) => one.id === id)
  const instruments = createInstruments({ clock, version: VERSION, knownProvider: known })
  started.defer(() => instruments.close())
  let wake = (): void => undefined
  const { storage: opened, writes } = await openDaemonStorage(config, {
    ...{ instruments, clock, onLost: options.onLost, onEvents: () => wake() },
    room: { freeBytes, leastFree, log },
  })
  started.defer(() => opened.close())
  const { storage, composed } = withBroadcastMail(opened)
  const lastFailure = () => writes.lastFailure()
  const health = createHealth({ storage, clock, freeBytes, leastFree, lastFailure })
  const sandbox = options.sandbox ? await openSandbox({ config, storage, clock }) : null
  if (sandbox) started.defer(() => sandbox.close())
  const resolver = openResolver(config, clock, sandbox?.resolver ?? options.resolver)
  started.defer(() => resolver.close())
  const owner = ownerOf(await storage.thisNode({}, clock.now()), newId(clock.now()))
  const duties = createDuties({ storage, clock, owner })
  started.defer(() => duties.release())
  const telling = { storage, resolver, clock, log, duties, pollMs: options.pollMs }
  const events = openEvents(config, telling, options.webhookHosts)
  wake = () => events.wake()
  started.defer(() => events.stop())
  const base = { config, options, log, clock, started, storage, owner, duties, sandbox, resolver, events }
  const capacity = createCapacity({ ...capacityOptions(config), clock, freeBytes })
  const mime = createMimeReader({ clock, turns: capacity.turns })
  started.defer(() => mime.close())
  const hasRoom = async () => ((await freeBytes()) ?? Infinity) >= leastFree
  return { ...base, instruments, health, capacity, mime, hasRoom, composed, stats: () => storage.stats() }
}

/** Who may send, and from which addresses of this machine. */
interface People {
  accounts: Accounts
  senders: Senders
  book: SourceBook
}

async function openPeople(ground: Ground): Promise<People> {
  const { config, options, log, clock, started, storage, duties, sandbox, resolver } = ground
  const accounts = createAccounts({ storage, clock, hostname: config.hostname })
  const book = await openSourceBook(config, storage, clock)
  await book.reconcile()
  const polls = { ...domainPolls(options), duties }
  const senders = createSenders({ storage, resolver, clock, config: book.host, log, ...polls })
  started.defer(() => senders.close())
  if (sandbox) await sandbox.open({ accounts, senders, resolver })
  return { accounts, senders, book }
}

/** The door out, and the reports that fall due there. */
async function startDelivery(
  deps: DeliveryDeps & { duties: Duties },
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

/** What mail leaves through. */
interface WayOut {
  delivery: Delivery
  policies: ReturnType<typeof openTlsPolicies>
}

async function openWayOut(ground: Ground, tables: LiveTables): Promise<WayOut> {
  const { config, options, log, clock, started, storage, sandbox, resolver } = ground
  const port = sandbox?.deliveryPort ?? config.delivery.port
  const way = { ...deliveryOptions(config, tables), port, owner: ground.owner, pollMs: options.pollMs }
  const told = { ...options.policyHosts, deliveryPort: port }
  const policies = openTlsPolicies(config, { storage, resolver, clock, log }, told)
  started.defer(() => policies.stop())
  const delivery = await startDelivery({ ...ground, policies, options: way }, started)
  const onStored = (): void => delivery.wake()
  const tlsReporter = openTlsReporter(config, { ...ground, onStored }, told)
  started.defer(() => tlsReporter.stop())
  policies.start()
  tlsReporter.start()
  return { delivery, policies }
}

/** Hourly looks at the addresses that mail leaves from. */
function watchSources(ground: Ground, book: SourceBook, delivery: Delivery, tables: LiveTables): void {
  const { config, options, log, clock, started, storage, resolver } = ground
  const { blocklists } = tables
  const watching = { ...domainPolls(options), blocklists, onChange: () => delivery.changed() }
  const watcher = openSourceWatcher(config, { storage, book, resolver, clock, log }, watching)
  started.defer(() => watcher.stop())
  watcher.start()
}

/** What operators ask and change. */
function operatorsDoors(ground: Ground, { book }: People, out: WayOut, tables: LiveTables) {
  const { delivery, policies } = out
  const { config, options, clock, storage, sandbox, resolver } = ground
  const look = openDoctor(config, tables.blocklists)
  const freshResolver = () => openResolver(config, clock, sandbox?.resolver ?? options.resolver)
  const change = (work: () => Promise<void>) => delivery.change(work)
  const activity = (source: string, provider: string) => delivery.laneActivity(source, provider)
  return {
    shaping: createShapingBook({ ...{ storage, clock, table: tables.providers, change }, activity }),
    queue: createQueueControl({ storage, clock, wake: () => delivery.wake() }),
    sources: heeded(book, () => delivery.changed()),
    tlsPolicies: policies,
    doctor: createSharedDoctor(clock, (domain, tell) =>
      look({ storage, resolver, freshResolver, clock, host: book.host }, domain, tell),
    ),
  }
}

/** The doors in: REST with the dashboard, and SMTP. */
async function openDoors(ground: Ground, people: People, out: WayOut, tables: LiveTables) {
  const { config, options, log, clock, started, storage, sandbox, resolver, capacity, mime } = ground
  const { accounts, senders } = people
  const wake = (): void => out.delivery.wake()
  const quotas = createQuotas({ storage, clock, plans: tables.plans })
  const rateLimiter = createRateLimiter({ clock, perSecond: config.limits.rate_per_second })
  const fetch = openFetch(resolver, clock, { allowNetworks: options.fetchNetworks })
  const { certificates, acme } = await openCertified(config, ground, sandbox !== null)
  const { tracking, listening } = await openTracking(ground, tables, certificates)
  const { tokens, unsubscribeLink } = await openPreferences(ground, tracking)
  const needed = { storage, senders, quotas, fetch, mime, clock, wake, tracking, unsubscribeLink }
  const receivingMail = createIntake({ ...needed, ...intakeOptions(config) })
  const intake = started.adopt(receivingMail, () => receivingMail.close())
  const operators = operatorsDoors(ground, people, out, tables)
  const sendNotice = createNotices({ ...ground, intake, ...noticeOptions(config) })
  const node = openNode(config, clock, sandbox !== null)
  const http = await createHttp({
    tls: { certificates, challenges: acme ?? undefined, list: () => viewCertificates(config) },
    storage,
    capacity,
    schedules: createSchedules({ storage, clock, wake }),
    accounts,
    providers: openSignInProviders(config, { storage, clock, accounts }),
    senders,
    quotas,
    rateLimiter,
    intake,
    mime,
    sendNotice,
    clock,
    log,
    sandboxInbox: sandbox?.inbox,
    webhooks: ground.events.webhooks,
    erasures: openErasures(ground),
    audience: openAudience(ground, tokens),
    templates: createTemplates(ground),
    broadcasts: openBroadcasts({ ...ground, senders, tracking, tokens, wake }),
    retention: retentionOf(ground),
    tracking,
    instruments: ground.instruments,
    health: ground.health,
    node,
    ...operators,
    ...openFirstRun(ground, people),
    config: httpOptions(config),
    dashboard: options.dashboard ?? DASHBOARD,
  })
  started.defer(() => http.close())
  const origins = await listenHttp(http, config, { acme, capacity: ground.capacity }, started)
  listening(origins[0])
  const inbound = createInbound({ ...ground, mime, sendNotice, ...inboundOptions(config, tables) })
  started.defer(() => inbound.close())
  const apps = { senders, rateLimiter, intake, mime, clock, config: submissionOptions(config) }
  const doors = { submission: createSubmission(apps), publicMx: createInboundDoor(inbound) }
  const smtp = await openSmtp(config, { ...ground, ...doors, requestLog: http.requestLog, certificates })
  started.defer(() => smtp.close())
  const metrics = await openMetrics(ground, operators.shaping)
  node.listening({ http: origins, metrics, smtp })
  return { url: origins[0]!, http: origins, smtp, metrics, certificates }
}

/** The tokens of the preference page, and the links with them on the tracking host of a domain. */
async function openPreferences({ storage, clock }: Ground, tracking: Tracking) {
  const secret = await storage.secret({ name: 'preferences', fresh: randomBytes(32) }, clock.now())
  const tokens = createPreferencesTokens(secret)
  const unsubscribeLink: IntakeDeps['unsubscribeLink'] = (domain, target) => {
    const origin = tracking.originFor(domain)
    return origin === null ? null : `${origin}${PREFERENCES_PATH}${tokens.sign(target)}`
  }
  return { tokens, unsubscribeLink }
}

/** Erasures go on where a stop interrupted them. */
function openErasures(ground: Ground): Erasures {
  const erasures = createErasures({ ...ground, pollMs: domainPolls(ground.options).pollMs })
  ground.started.defer(() => erasures.stop())
  erasures.start()
  return erasures
}

/** Whom teams write to. */
function openAudience(ground: Ground, tokens: PreferencesTokens): Audience {
  const { storage, clock, started, config, log, duties, stats, hasRoom } = ground
  const calls = (): number => stats().calls
  const imports = { ...importOptions(config), hasRoom, log, duties, calls }
  const audience = createAudience({ storage, clock, tokens, imports })
  started.defer(() => audience.close())
  audience.start()
  return audience
}

/** Opens and clicks. Where links lead is known once the server listens, before the first email is taken. */
async function openTracking(
  { config, clock, storage, log }: Ground,
  { robots }: LiveTables,
  certificates: Certificates,
) {
  const secret = await storage.secret({ name: 'tracking', fresh: randomBytes(32) }, clock.now())
  let origin: string | null = config.http.public_url ?? null
  // Without listeners of our own for HTTPS a proxy speaks it, and its certificates cannot be seen from here.
  const certified = (host: string): boolean =>
    config.http.tls_listen.length === 0 || certificates.covers(host)
  const tracking = createTracking({
    ...{ storage, clock, log, secret, origin: () => origin, certified },
    storeIp: config.tracking.store_ip,
    robots,
  })
  const listening = (url: string | undefined): void => {
    origin ??= reachable(url)
  }
  return { tracking, listening }
}

/** The page for Prometheus, and its listener where one is wanted. Returns its origins. */
async function openMetrics(ground: Ground, shaping: ShapingBook): Promise<string[]> {
  const { config, clock, storage, stats, instruments, health, log, started, capacity } = ground
  instruments.lookAt(createLook({ config, storage, shaping, clock, capacity, stats }))
  const listener = createMetricsListener({ instruments, health, log })
  started.defer(() => listener.close())
  return listener.listen(config.metrics.listen)
}

/** Reads again what a running daemon can exchange, and lets the lanes heed it. */
async function reloadParts(tables: LiveTables, book: Certificates, delivery: Delivery): Promise<Error[]> {
  const refused = tables.reread()
  const steps = [book.reload(), delivery.change(async () => undefined)]
  const results = await Promise.allSettled(steps)
  return [...refused, ...results.flatMap((one) => (one.status === 'rejected' ? [one.reason as Error] : []))]
}

/** Builds and starts the daemon. Rejects when anything is missing or taken; then nothing is left running. */
export async function compose(config: Config, options: ComposeOptions): Promise<Appliance> {
  await using started = new AsyncDisposableStack()
  const tables = openTables(config)

  const ground = await openGround(config, options, started, tables)
  const people = await openPeople(ground)
  const out = await openWayOut(ground, tables)
  const { url, http, smtp, metrics, certificates } = await openDoors(ground, people, out, tables)

  people.senders.watch()
  watchSources(ground, people.book, out.delivery, tables)
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
    ...domainPolls(ground.options),
  })
  started.defer(() => housekeeping.stop())

  // Everything runs: from here on stopping is the caller's.
  const running = started.move()
  const { accounts, senders } = people
  const stop = () => running.disposeAsync()
  const alive = () => ground.health.alive()
  const clients = () => capacityRows(ground.capacity.figures())
  const reload = () => reloadParts(tables, certificates, out.delivery)
  return { url, http, storage, senders, accounts, sandbox, smtp, metrics, alive, clients, reload, stop }
}
