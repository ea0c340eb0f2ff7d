import { createShapingOperations } from '../../../appliance/shaping/shaping.ts'
import { loadProviderRules, loadProviders } from '../../../appliance/config/config.ts'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createAccounts,
  createProviderSignIns,
  createSetup,
  type Accounts,
  type ProviderSettings,
} from '../../../appliance/accounts/accounts.ts'
import {
  createAudience,
  createPreferencesTokens,
  type PreferencesTokens,
} from '../../../appliance/audience/audience.ts'
import { createTlsPolicies } from '../../../appliance/delivery/delivery.ts'
import { createHttp, type HttpDeps, type SandboxInbox } from '../../../appliance/http/http.ts'
import {
  createReportView,
  createReputationView,
  createSharedDoctor,
} from '../../../appliance/insights/insights.ts'
import { createRegionOverview, createSourceRegistry } from '../../../appliance/sources/sources.ts'
import { createWebhooks } from '../../../appliance/events/events.ts'
import { createComposer, createIntake, createScheduledEmails } from '../../../appliance/intake/intake.ts'
import { createMimeReader } from '../../../appliance/mime/mime.ts'
import {
  createErasures,
  createPropagationWatch,
  createProviderRuleChecker,
  createQuotas,
  createReturnPaths,
  createRateLimiter,
  createSenders,
  type Plans,
  type Senders,
} from '../../../appliance/senders/senders.ts'
import type { ProviderRules } from '../../../appliance/mail/provider-rules.ts'
import type { Finding } from '../../../appliance/mail/finding.ts'
import { createQueueControl } from '../../../appliance/queue/queue.ts'
import { cacheLookups } from '../../../appliance/storage/lookup-cache.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import type { Domain, Permission, Storage } from '../../../appliance/storage/storage.ts'
import { reportDiskUsage } from '../../../appliance/housekeeping/housekeeping.ts'
import { type Broadcasts, createBroadcasts } from '../../../appliance/broadcasts/broadcasts.ts'
import { type Automations, createAutomations } from '../../../appliance/automations/automations.ts'
import { createCustomEvents } from '../../../appliance/automations/operations.ts'
import { type SignUpForms, signUpForms } from './sign-up-forms.ts'
import { nodeStandIn, noDns, noKeys, silentInstruments, wellHealth } from './stand-ins.ts'
import { createTemplates } from '../../../appliance/templates/templates.ts'
import { createSilentLogger, type Logger } from '../../../appliance/watch/log.ts'
import { createGuardedFetch, type FetchDeps } from '../../../appliance/wire/fetch.ts'
import { createPostClient } from '../../../appliance/wire/post.ts'
import type { Capacity, CapacityOptions } from '../../../appliance/capacity/capacity.ts'
import { testCapacity } from '../../world/capacity.ts'
import { createTestClock, type TestClock } from '../../world/clock.ts'
import { createNoticeSender } from '../../../appliance/intake/notice.ts'

const providers = loadProviders({ connections: 10 })
const providerRules = loadProviderRules()
/** Shared by the API's tests: the real server on real storage, with one team. */
export interface Api extends SignUpForms {
  capacity: Capacity
  /** `http://127.0.0.1:port` */
  url: string
  dataDir: string
  storage: Storage
  senders: Senders
  accounts: Accounts
  clock: TestClock
  teamId: string
  /** `acme.example` is verified, `new.example` isn't. */
  domain: Domain
  unverified: Domain
  /** Creates tokens for links to the preference page. */
  tokens: PreferencesTokens
  /** Tokens of the team's API keys. */
  full: string
  sending: string
  /** Automations, which run after `start`. */
  automations: Automations
  /** Broadcasts, which are sent after `start`. */
  broadcasts: Broadcasts
  /** How many times dispatch was told that something is due. */
  woken: number
  /** Returns the number of the team's emails. */
  count(): Promise<number>
  makeKey(permission: Permission, domainId?: string): Promise<string>
  /** Makes a request with the full-access key. `body` is sent as JSON unless it is a string. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  close(): Promise<void>
}

export interface Answer {
  status: number
  headers: Headers
  text: string
  /** The text parsed as JSON; undefined if it isn't JSON. */
  json: unknown
}

export interface ApiOptions {
  capacity?: Partial<CapacityOptions>
  messageBytes?: number
  dashboard?: string
  trustProxy?: string[]
  log?: Logger
  sandboxInbox?: SandboxInbox
  accounts?: (accounts: Accounts) => HttpDeps['accounts']
  /** Identity providers. Default: none. */
  providers?: ProviderSettings[]
  /** How attachments are fetched. By default, no name resolves and no private address is allowed. */
  fetch?: Partial<FetchDeps>
  /** Addresses of this machine. Default: none. */
  ownAddresses?: () => readonly string[]
  publicUrl?: string
  /** Runs on the data of another instance, and doesn't remove it. */
  dataDir?: string
  /** Wraps the storage that the appliance uses. */
  storage?: (storage: Storage) => Storage
  /** Teams are on the plan `unlimited`, which has no limits if it isn't defined here. */
  plans?: Plans
  /** Rules of mailbox providers. Default: those that ship. */
  rules?: ProviderRules
  /** The doctor's findings. Default: none. */
  examine?: (domain?: Domain) => Promise<Finding[]>
  /** Reports whether the disk has space for imports. Default: it has. */
  hasRoom?: () => boolean
  /** Requests per second and key. The default is practically unlimited, because these tests' clock doesn't move. */
  perSecond?: number
}

export const owner = { email: 'owner@acme.example', password: 'a quiet harbour at dusk' }

export async function startApi(options: ApiOptions = {}): Promise<Api> {
  const { messageBytes = 41_943_040, log = createSilentLogger() } = options
  const ownAddresses = options.ownAddresses ?? (() => [])
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'posthaste-http-')))
  const clock = createTestClock()
  const opened = cacheLookups(await openSqlite({ dataDir }))
  const storage = options.storage?.(opened) ?? opened
  const resolver = noDns(clock)
  const config = { hostname: 'mail.acme.example', sourceIps: [] }
  const senders = createSenders({ storage, resolver, clock, config, keygen: noKeys })
  const accounts = createAccounts({ storage, clock })
  const team =
    (await storage.firstTeam({}, clock.now())) ??
    (await accounts.createOwner({ ...owner, teamName: 'Acme' })).team
  const teamId = team.id
  const addDomain = async (name: string) =>
    (await senders.findDomain({ teamId, name })) ?? (await senders.addDomain({ teamId, name }))
  const [domain, unverified] = [await addDomain('acme.example'), await addDomain('new.example')]
  await storage.saveDomainCheck({ teamId, id: domain.id, status: 'verified', checks: [] }, clock.now())
  const makeKey: Api['makeKey'] = async (permission, domainId) =>
    (await senders.createKey({ teamId, name: permission, permission, domainId })).token
  const [full, sending] = [await makeKey('full_access'), await makeKey('sending_access')]
  const quotas = createQuotas({ storage, clock, plans: options.plans ?? new Map() })
  const gate = createProviderRuleChecker({ storage, clock, rules: () => options.rules ?? providerRules })
  const wake = () => void api.woken++
  const capacity = testCapacity(clock, dataDir, { messageBytes, ...options.capacity })
  const mime = createMimeReader({ clock, turns: capacity.turns })
  const tokens = createPreferencesTokens(Buffer.alloc(32, 1))
  const intake = createIntake({
    storage,
    senders,
    quotas,
    gate,
    mime,
    fetch: createGuardedFetch({
      lookup: async () => [],
      clock,
      allowNetworks: [],
      ownAddresses,
      deadlineMs: 10_000,
      agent: 'Posthaste/0.0.0',
      ...options.fetch,
    }),
    clock,
    limits: { message_bytes: messageBytes },
    wake,
    unsubscribeLink: (_, target) => `https://links.acme.example/u/${tokens.sign(target)}`,
  })
  const erasures = createErasures({ storage, clock })
  erasures.start()
  const audience = createAudience({
    storage,
    clock,
    tokens,
    imports: {
      folder: join(dataDir, 'imports'),
      hasRoom: () => Promise.resolve(options.hasRoom?.() ?? true),
      log,
      calls: () => 0,
    },
  })
  audience.start()
  const composer = createComposer({ clock })
  const broadcasts = createBroadcasts({
    storage,
    clock,
    log,
    senders,
    gate,
    tokens,
    composer,
    wake,
    pollMs: 1000,
    returnPaths: createReturnPaths({ storage, clock }),
    tracking: { originFor: () => 'https://links.acme.example', planWith: () => null },
    laneRates: async () => [],
    hasRoom: async () => true,
  })
  const templates = createTemplates({ storage, clock })
  const automations = createAutomations({ storage, clock, log, intake, templates, pollMs: 1000 })
  const signUps = signUpForms({ storage, clock, log, senders, intake })
  const http = await createHttp({
    storage,
    capacity,
    senders,
    gate,
    quotas,
    shaping: createShapingOperations({ storage, clock, table: () => providers }),
    sources: createSourceRegistry({
      storage,
      nodeId: await storage.thisNode({}, 0),
      clock,
      hostname: config.hostname,
      configured: ['192.0.2.1'],
      warmUp: false,
    }),
    tlsPolicies: createTlsPolicies({
      storage,
      resolver,
      clock,
      log,
      fetch: () => Promise.resolve({ kind: 'failed', note: 'is out of reach' }),
      options: { trustAd: false, port: 25 },
    }),
    queue: createQueueControl({ storage, clock, wake }),
    webhooks: createWebhooks({
      storage,
      clock,
      agent: 'Posthaste-Webhooks/0.0.0',
      allowNetworks: [],
      wake,
      ownAddresses,
      poster: createPostClient({
        lookup: options.fetch?.lookup ?? (async () => []),
        clock,
        allowNetworks: [],
        ownAddresses,
        deadlineMs: 1000,
        readBytes: 65_536,
        keepBytes: 4096,
      }),
    }),
    erasures,
    audience,
    templates,
    automations,
    ...signUps,
    customEvents: createCustomEvents({ storage, clock }),
    broadcasts,
    retention: {
      days: { bodies: 30, attempts: 90, events: 90, emails: 365, logs: 30, webhooks: 30, audit: 730 },
      disk: () => reportDiskUsage(storage, clock, { budget: null, onDisk: 1_000_000 }),
    },
    doctor: createSharedDoctor(clock, options.examine ?? (() => Promise.resolve([]))),
    rateLimiter: createRateLimiter({ clock, perSecond: options.perSecond ?? 1_000_000 }),
    setUp: createSetup({ storage, clock, accounts }),
    reputation: createReputationView({ storage, clock, rules: () => gate.rules() }),
    reports: createReportView({ storage, resolver, clock, hostname: config.hostname }),
    propagation: createPropagationWatch({ storage, resolver, clock, config }),
    intake,
    mime,
    sendNotice: createNoticeSender({
      storage,
      intake,
      clock,
      log,
      hostname: config.hostname,
      from: undefined,
    }),
    schedules: createScheduledEmails({ storage, clock, wake }),
    instruments: silentInstruments,
    health: wellHealth,
    node: nodeStandIn(dataDir, clock),
    regions: createRegionOverview({
      storage,
      clock,
      resolver,
      listNodes: () => nodeStandIn(dataDir, clock).list(),
    }),
    clock,
    log,
    accounts: options.accounts?.(accounts) ?? accounts,
    providers: createProviderSignIns({ storage, clock, accounts, settings: options.providers ?? [] }),
    config: {
      messageBytes,
      logApiUse: true,
      trustProxy: options.trustProxy ?? [],
      publicUrl: options.publicUrl,
      peopleUrl: options.publicUrl,
      hostname: config.hostname,
      version: '0.0.0',
    },
    dashboard: options.dashboard ?? join(dataDir, 'no-dashboard'),
    sandboxInbox: options.sandboxInbox,
  })
  const [url] = await http.listen(['127.0.0.1:0'])
  const api: Api = {
    url: url!,
    capacity,
    dataDir,
    storage,
    senders,
    accounts,
    clock,
    teamId,
    domain,
    unverified,
    full,
    sending,
    woken: 0,
    tokens,
    ...signUps,
    automations,
    broadcasts,
    makeKey,
    count: async () => (await storage.listEmails({ teamId, limit: 100_000 }, clock.now())).items.length,
    call: (method, path, body, headers) =>
      ask(url! + path, method, body, { authorization: `Bearer ${full}`, ...headers }),
    async close() {
      await http.close()
      await erasures.stop()
      await audience.close()
      await signUps.forms.close()
      await broadcasts.close()
      await composer.close()
      await intake.close()
      await senders.close()
      resolver.close()
      await storage.close()
      if (!options.dataDir) await rm(dataDir, { recursive: true, force: true })
    },
  }
  return api
}

/** Returns the cookie of the session that a response starts, as a browser sends it back. */
export function sessionCookie({ headers }: Pick<Answer, 'headers'>): string {
  const cookie = headers.getSetCookie().find((one) => one.startsWith('posthaste_session='))
  if (cookie === undefined) throw new Error('the answer begins no session')
  return cookie.split(';', 1)[0]!
}

/** Makes a plain request, without a key unless the headers have one. */
export async function ask(
  url: string,
  method: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const json = body === undefined || typeof body === 'string' || body instanceof Uint8Array
  const response = await fetch(url, {
    method,
    redirect: 'manual',
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined
      ? {}
      : { body: json ? (body as string | Uint8Array<ArrayBuffer>) : JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: parse(text) }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // Pages and sources are no JSON; their tests look at the text.
  }
}

/** Returns the API's error body (reference: wire format §3), with keys in order. */
export function errorText(statusCode: number, name: string, message: string): string {
  return JSON.stringify({ statusCode, message, name })
}

/** A valid request. */
export const hello = {
  from: 'Acme <hi@acme.example>',
  to: ['bob@example.com'],
  subject: 'Hello',
  text: 'Hi Bob',
}
