import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAccounts, type Accounts } from '../../../appliance/accounts/accounts.ts'
import { createResolver } from '../../../appliance/dns/resolver.ts'
import { createHttp, type HttpDeps, type SandboxInbox } from '../../../appliance/http/http.ts'
import { createIntake, createSchedules } from '../../../appliance/intake/intake.ts'
import {
  createQuotas,
  createRateLimiter,
  createSenders,
  type Plans,
  type Senders,
} from '../../../appliance/senders/senders.ts'
import { remembered } from '../../../appliance/storage/remembered.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import type { Domain, Permission, Storage } from '../../../appliance/storage/storage.ts'
import { silentLogger, type Logger } from '../../../appliance/watch/log.ts'
import { createGuardedFetch, type FetchDeps } from '../../../appliance/wire/fetch.ts'
import { createTestClock, type TestClock } from '../../world/clock.ts'

/** What the tests of the API share: the real server on the real storage, with one team. */
export interface Api {
  /** `http://127.0.0.1:port` */
  url: string
  dataDir: string
  storage: Storage
  senders: Senders
  accounts: Accounts
  clock: TestClock
  teamId: string
  /** `acme.example`, verified, and `new.example`, not verified. */
  domain: Domain
  unverified: Domain
  /** Tokens of keys of the team. */
  full: string
  sending: string
  /** How often dispatch was told that something is due. */
  woken: number
  /** All emails of the team. */
  count(): Promise<number>
  makeKey(permission: Permission, domainId?: string): Promise<string>
  /** A request with the full key; `body` becomes JSON unless it is text. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  close(): Promise<void>
}

export interface Answer {
  status: number
  headers: Headers
  text: string
  /** The text as JSON; undefined when it is not. */
  json: unknown
}

export interface ApiOptions {
  messageBytes?: number
  dashboard?: string
  trustProxy?: string[]
  log?: Logger
  sandboxInbox?: SandboxInbox
  accounts?: (accounts: Accounts) => HttpDeps['accounts']
  /** How attachments are fetched; without it no name is known and no private address allowed. */
  fetch?: Partial<FetchDeps>
  publicUrl?: string
  /** Works beside another on its data, which stays. */
  dataDir?: string
  /** Puts itself between the appliance and its storage. */
  storage?: (storage: Storage) => Storage
  /** Teams are on the plan `unlimited`, which is without limits when it is not here. */
  plans?: Plans
  /** Requests with a key, a second; as good as unlimited when not given: the clock of these tests stands still. */
  perSecond?: number
}

export const owner = { email: 'owner@acme.example', password: 'a quiet harbour at dusk' }

/** A resolver whose only server is a closed port: every lookup fails, at once. */
const noDns = (clock: TestClock) => createResolver({ servers: ['127.0.0.1:9'], clock, timeoutMs: 50 })

/** Nothing is signed here: real keys would take half a second for each server. */
const noKeys = async () => ({ privateKey: new Uint8Array([1]), publicKey: 'AQ==' })

export async function startApi(options: ApiOptions = {}): Promise<Api> {
  const { messageBytes = 41_943_040, log = silentLogger() } = options
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'posthaste-http-')))
  const clock = createTestClock()
  const opened = remembered(await openSqlite({ dataDir }))
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
  const wake = () => void api.woken++
  const intake = createIntake({
    storage,
    senders,
    quotas,
    fetch: createGuardedFetch({
      lookup: async () => [],
      clock,
      allowNetworks: [],
      deadlineMs: 10_000,
      agent: 'Posthaste/0.0.0',
      ...options.fetch,
    }),
    clock,
    limits: { message_bytes: messageBytes },
    wake,
  })
  const http = await createHttp({
    storage,
    senders,
    quotas,
    rateLimiter: createRateLimiter({ clock, perSecond: options.perSecond ?? 1_000_000 }),
    intake,
    schedules: createSchedules({ storage, clock, wake }),
    clock,
    log,
    accounts: options.accounts?.(accounts) ?? accounts,
    config: {
      messageBytes,
      logApiUse: true,
      trustProxy: options.trustProxy ?? [],
      publicUrl: options.publicUrl,
      hostname: config.hostname,
      version: '0.0.0',
    },
    dashboard: options.dashboard ?? join(dataDir, 'no-dashboard'),
    sandboxInbox: options.sandboxInbox,
  })
  const [url] = await http.listen(['127.0.0.1:0'])

  const api: Api = {
    ...{
      url: url!,
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
    },
    makeKey,
    count: async () => (await storage.listEmails({ teamId, limit: 100_000 }, clock.now())).items.length,
    call: (method, path, body, headers) =>
      ask(url! + path, method, body, { authorization: `Bearer ${full}`, ...headers }),
    async close() {
      await http.close()
      await intake.close()
      await senders.close()
      resolver.close()
      await storage.close()
      if (!options.dataDir) await rm(dataDir, { recursive: true, force: true })
    },
  }
  return api
}

/** A plain request: without a key unless the headers have one. */
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

/** The wire's error body (reference: wire format §3), keys in order. */
export function errorText(statusCode: number, name: string, message: string): string {
  return JSON.stringify({ statusCode, message, name })
}

/** A request that is accepted. */
export const hello = {
  from: 'Acme <hi@acme.example>',
  to: ['bob@example.com'],
  subject: 'Hello',
  text: 'Hi Bob',
}
