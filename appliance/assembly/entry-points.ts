/** Opens the entry points for requests and mail, and the services behind them. */
import { randomBytes } from 'node:crypto'
import {
  type Audience,
  createAudience,
  createPreferencesTokens,
  PREFERENCES_PATH,
  type PreferencesTokens,
} from '../audience/audience.ts'
import { checkSingleEmail } from '../advice/advice.ts'
import { createAlerts } from '../alerts/alerts.ts'
import { alertLevels } from './alert-levels.ts'
import { createAutomations } from '../automations/automations.ts'
import { createCustomEvents } from '../automations/operations.ts'
import { createHttp } from '../http/http.ts'
import { createMetricsListener } from '../http/metrics-listener.ts'
import { createSetup } from '../accounts/accounts.ts'
import {
  deliverToPublicMx,
  createDnsbl,
  createMilters,
  createPublicMx,
  createSpamFilter,
} from '../inbound/public-mx.ts'
import { createMailReceiver, type MailReceiverDeps } from '../inbound/inbound.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import {
  createSentEmailChecker,
  createReportView,
  createReputationView,
  createSharedDoctor,
  loadCertificateViews,
} from '../insights/insights.ts'
import {
  createEmailContentReader,
  createIntake,
  createScheduledEmails,
  type Intake,
  type IntakeDeps,
} from '../intake/intake.ts'
import { systemClock } from '../clock/clock.ts'
import { openNameserver } from './nameserver.ts'
import { createNodeList, createNodeReader, isShared } from './node.ts'
import { createNoticeSender, type SendNotice } from '../intake/notice.ts'
import { createQueueControl } from '../queue/queue.ts'
import {
  createErasures,
  createPropagationWatch,
  createProviderRuleChecker,
  createQuotas,
  createRateLimiter,
  type Erasures,
  type ProviderRuleChecker,
} from '../senders/senders.ts'
import { createShapingOperations, type ShapingOperations } from '../shaping/shaping.ts'
import type { MailHandler } from '../smtp/smtp.ts'
import { createRegionOverview, type SourceRegistry } from '../sources/sources.ts'
import { createSubmission } from '../submission/submission.ts'
import { createTemplates } from '../templates/templates.ts'
import { createTracking, pickReachableOrigin, type Tracking } from '../tracking/tracking.ts'
import type { Certificates } from '../wire/certificates.ts'
import { createDoctor, createFetcher, openResolver, openSmtp } from './adapters.ts'
import { openBroadcasts } from './broadcasts.ts'
import { openPublicPages } from './public-pages.ts'
import { listenHttp, openCertificateServices } from './certificates.ts'
import { createGaugeCollector } from './monitoring.ts'
import {
  httpOptions,
  dnsblOptions,
  importOptions,
  inboundOptions,
  intakeOptions,
  noticeOptions,
  loadRetention,
  milterOptions,
  spamFilterOptions,
  submissionOptions,
} from './options.ts'
import { openSignInProviders } from './sign-in-providers.ts'
import type { LiveTables } from './tables.ts'
import type { Config } from '../config/config.ts'
import type { Instruments } from '../watch/metrics.ts'
import {
  createShares,
  domainPollOptions,
  type SharedResources,
  type AccountsAndSenders,
} from './foundations.ts'
import type { OutboundDelivery } from './outbound.ts'

/** Wraps a source book so that changes apply to the next message. */
function heeded(book: SourceRegistry, changed: () => void): SourceRegistry {
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

/** Creates the services for operators. */
function operatorParts(
  ground: SharedResources,
  { book }: AccountsAndSenders,
  out: OutboundDelivery,
  tables: LiveTables,
) {
  const { delivery, policies } = out
  const { config, options, clock, storage, sandbox, resolver } = ground
  const look = createDoctor(config, tables.blocklists)
  const freshResolver = () => openResolver(config, clock, sandbox?.resolver ?? options.resolver)
  const change = (work: () => Promise<void>) => delivery.change(work)
  const { list: listNodes } = createNodeList({ ...ground, clock: systemClock, deliveryClock: clock })
  const activity = (source: string, provider: string) => delivery.laneActivity(source, provider)
  return {
    shaping: createShapingOperations({ storage, clock, table: tables.providers, change, activity }),
    gate: createProviderRuleChecker({ storage, clock, rules: tables.providerRules }),
    queue: createQueueControl({ storage, clock, wake: () => delivery.wake() }),
    sources: heeded(book, () => delivery.changed()),
    tlsPolicies: policies,
    propagation: createPropagationWatch({ storage, resolver, clock, config: book.host }),
    regions: createRegionOverview({ storage, clock, resolver, listNodes }),
    reputation: createReputationView({ storage, clock, rules: tables.providerRules }),
    reports: createReportView({ storage, resolver, clock, hostname: config.hostname }),
    doctor: createSharedDoctor(clock, (domain, tell) =>
      look({ storage, resolver, freshResolver, clock, host: book.host }, domain, tell),
    ),
  }
}

/** Opens the entry points: REST with the dashboard, SMTP, and metrics. */
export async function openEntryPoints(
  ground: SharedResources,
  people: AccountsAndSenders,
  out: OutboundDelivery,
  tables: LiveTables,
) {
  const { config, options, log, clock, started, storage, sandbox, resolver, capacity, mime } = ground
  const { accounts, senders } = people
  const wake = (): void => out.delivery.wake()
  const quotas = createQuotas({ storage, clock, plans: tables.plans })
  const shareOf = createShares(ground)
  const rateLimiter = createRateLimiter({ clock, perSecond: () => shareOf(config.limits.rate_per_second) })
  const fetch = createFetcher(resolver, clock, { allowNetworks: options.fetchNetworks })
  const { certificates, acme, policies } = await openCertificateServices(config, ground, sandbox !== null)
  const { tracking, listening } = await openTracking(ground, tables, certificates)
  const { tokens, unsubscribeLink } = await openPreferences(ground, tracking)
  const operators = operatorParts(ground, people, out, tables)
  const { gate, shaping } = operators
  const needed = { storage, senders, quotas, gate, fetch, mime, clock, wake, tracking, unsubscribeLink }
  const intake = started.adopt(createIntake({ ...needed, ...intakeOptions(config) }), (one) => one.close())
  const sendNotice = createNoticeSender({ ...ground, intake, ...noticeOptions(config) })
  watchAlerts(ground, tables, { gate, sendNotice })
  countChecked(ground)
  const services = { storage, capacity, accounts, senders, quotas, rateLimiter, intake, mime, sendNotice }
  const http = await createHttp({
    ...services,
    clock,
    log,
    tracking,
    tls: { certificates, policies, challenges: acme ?? undefined, list: () => loadCertificateViews(config) },
    schedules: createScheduledEmails({ storage, clock, wake }),
    providers: openSignInProviders(config, { storage, clock, accounts }),
    sandboxInbox: sandbox?.inbox,
    webhooks: ground.events.webhooks,
    erasures: openErasures(ground),
    audience: openAudience(ground, tokens),
    ...(await openPublicPages(ground, { intake, senders, tracking, shareOf })),
    ...openAutomations(ground, intake),
    broadcasts: openBroadcasts({ ...ground, senders, gate, tracking, tokens, wake, shaping }),
    retention: loadRetention(ground),
    instruments: ground.instruments,
    health: ground.health,
    node: nodesOf(ground, shareOf),
    ...operators,
    setUp: createSetup({ storage, clock, accounts }),
    config: httpOptions(config),
    dashboard: options.dashboard,
  })
  started.defer(() => http.close())
  const origins = await listenHttp(http, config, { acme, capacity: ground.capacity }, started)
  listening(origins[0])
  const parts = { senders, rateLimiter, intake, sendNotice, certificates, requestLog: http.requestLog }
  const smtp = await openMail(ground, tables, parts)
  const dns = await openNameserver(ground, people, policies)
  const metrics = await openMetrics(ground, shaping)
  ground.node.listening({ http: origins, metrics, smtp, dns })
  return { url: origins[0]!, http: origins, smtp, dns, metrics, certificates }
}

/** Returns this node, the list of all nodes, and each node's share of a limit. */
const nodesOf = (ground: SharedResources, shareOf: (limit: number) => number) => ({
  ...ground.node,
  ...createNodeList({ ...ground, clock: systemClock, deliveryClock: ground.clock }),
  shareOf,
})

/** Starts the worker that opens and closes alerts. */
function watchAlerts(
  ground: SharedResources,
  tables: LiveTables,
  parts: { gate: ProviderRuleChecker; sendNotice: SendNotice },
): void {
  const { config, started } = ground
  const { peopleUrl = null } = httpOptions(config)
  const url = peopleUrl === null ? null : `${peopleUrl}/dashboard/alerts`
  const providers = () => tables.providers().providers
  const listNodes = createNodeReader(config, ground.storage, ground.nodeId)
  const measured = { ...parts, providers, listNodes, url, levels: alertLevels(config) }
  const alerts = createAlerts({ ...ground, ...measured })
  started.defer(() => alerts.stop())
  alerts.start()
}

/** Starts counting the results of the checks of sent emails. */
function countChecked(ground: SharedResources): void {
  const { storage, clock, mime, capacity, started } = ground
  const contents = createEmailContentReader({ storage, clock, mime, turns: capacity.turns })
  const counter = createSentEmailChecker({
    ...ground,
    contentOf: (email) => contents.of(email),
    advise: checkSingleEmail,
  })
  started.defer(() => counter.stop())
  counter.start()
}

/** Opens the SMTP listeners: for apps, and for mail without authentication. */
async function openMail(ground: SharedResources, tables: LiveTables, parts: MailParts) {
  const { config, started, mime, clock } = ground
  const { senders, rateLimiter, intake, sendNotice, certificates, requestLog } = parts
  const publicMx = openPublicMx({ ...ground, sendNotice, intake, mime, ...inboundOptions(config, tables) })
  const apps = { senders, rateLimiter, intake, mime, clock, config: submissionOptions(config) }
  const handlers = { submission: createSubmission(apps), publicMx }
  const shareOf = createShares(ground)
  const smtp = await openSmtp(config, { ...ground, ...handlers, requestLog, certificates, shareOf })
  started.defer(() => smtp.close())
  return smtp
}

type Submission = Parameters<typeof createSubmission>[0]
type MailParts = Pick<Submission, 'senders' | 'rateLimiter'> &
  Pick<Parameters<typeof openSmtp>[1], 'certificates' | 'requestLog'> & {
    intake: Intake
    sendNotice: MailReceiverDeps['sendNotice']
  }

/** Creates the tokens of the preference page, and its links on the tracking host of a domain. */
async function openPreferences({ storage, clock }: SharedResources, tracking: Tracking) {
  const secret = await storage.secret({ name: 'preferences', fresh: randomBytes(32) }, clock.now())
  const tokens = createPreferencesTokens(secret)
  const unsubscribeLink: IntakeDeps['unsubscribeLink'] = (domain, target) => {
    const origin = tracking.originFor(domain)
    return origin === null ? null : `${origin}${PREFERENCES_PATH}${tokens.sign(target)}`
  }
  return { tokens, unsubscribeLink }
}

/** Creates erasures, which continue after a restart. */
function openErasures(ground: SharedResources): Erasures {
  const erasures = createErasures({ ...ground, pollMs: domainPollOptions(ground).pollMs })
  ground.started.defer(() => erasures.stop())
  erasures.start()
  return erasures
}

/** Creates templates, the automations that send them, and the custom events that start automations. Continues runs. */
function openAutomations(ground: SharedResources, intake: Intake) {
  const templates = createTemplates(ground)
  const pollMs = ground.options.pollMs ?? 1000
  const automations = createAutomations({ ...ground, intake, templates, pollMs })
  ground.started.defer(() => automations.close())
  automations.start()
  return { templates, automations, customEvents: createCustomEvents(ground, () => automations.wake()) }
}

/** Creates the audience. */
function openAudience(ground: SharedResources, tokens: PreferencesTokens): Audience {
  const { storage, clock, started, config, log, duties, stats, hasRoom, options } = ground
  const calls = (): number => stats().calls
  const imports = {
    ...importOptions(config),
    hasRoom,
    log,
    calls,
    pollMs: options.pollMs,
    // A node imports the files that were uploaded to it.
    duties: isShared(config) ? undefined : duties,
    hereOnly: isShared(config),
  }
  const audience = createAudience({ storage, clock, tokens, imports })
  started.defer(() => audience.close())
  audience.start()
  return audience
}

/**
 * Creates the tracking of opens and clicks. The origin of links is known once the server listens, before the first
 * email is accepted.
 */
async function openTracking(
  { config, clock, storage, log }: SharedResources,
  { robots }: LiveTables,
  certificates: Certificates,
) {
  const secret = await storage.secret({ name: 'tracking', fresh: randomBytes(32) }, clock.now())
  let origin: string | null = config.http.public_url ?? null
  // Without HTTPS listeners, a proxy terminates TLS, and its certificates can't be checked.
  const certified = (host: string): boolean =>
    config.http.tls_listen.length === 0 || certificates.covers(host)
  const tracking = createTracking({
    storage,
    clock,
    log,
    secret,
    origin: () => origin,
    certified,
    storeIp: config.tracking.store_ip,
    robots,
  })
  const listening = (url: string | undefined): void => {
    origin ??= pickReachableOrigin(url)
  }
  return { tracking, listening }
}

/** Opens the metrics page and its listeners, if configured. Returns their origins. */
async function openMetrics(ground: SharedResources, shaping: ShapingOperations): Promise<string[]> {
  const { config, clock, storage, stats, instruments, health, log, started, capacity } = ground
  instruments.lookAt(createGaugeCollector({ config, storage, shaping, clock, capacity, stats }))
  const listener = createMetricsListener({ instruments, health, log })
  started.defer(() => listener.close())
  return listener.listen(config.metrics.listen)
}

/** Services that stop with the daemon. */
interface Started {
  defer(end: () => Promise<void>): void
}

interface PublicMxDeps extends MailReceiverDeps {
  started: Started
  config: Config
  options: SharedResources['options']
  instruments: Pick<Instruments, 'blocklistAsked' | 'milterAsked' | 'spamFilterAsked'>
  /** Null outside the sandbox. */
  sandbox: Sandbox | null
}

/**
 * Opens the public MX, for mail without authentication. It also reads and forwards stored mail until the daemon stops.
 * In the sandbox, it receives reports and replies of simulated recipients as well.
 */
function openPublicMx({ started, sandbox, ...deps }: PublicMxDeps): MailHandler {
  const { config, instruments } = deps
  const filter = spamFilterOptions(config)
  const spamFilter = filter && createSpamFilter({ ...deps, ...filter, count: instruments.spamFilterAsked })
  const filters = milterOptions(config)
  const milters = filters && createMilters({ ...deps, ...filters, count: instruments.milterAsked })
  // With several nodes, the one that reads stored mail isn't always the one that received it.
  const polls = isShared(config) ? domainPollOptions(deps) : {}
  const inbound = createMailReceiver({ ...deps, ...polls, spamFilter, milters })
  started.defer(() => inbound.close())
  const dnsbl = createDnsbl({ ...deps, ...dnsblOptions(config), count: instruments.blocklistAsked })
  const handler = createPublicMx(inbound, dnsbl)
  sandbox?.connect((mail) => deliverToPublicMx(handler, mail))
  return handler
}
