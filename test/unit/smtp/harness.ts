import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAccounts } from '../../../appliance/accounts/accounts.ts'
import { loadBounceRules, loadReturnedMailRules } from '../../../appliance/config/config.ts'
import { createResolver } from '../../../appliance/dns/resolver.ts'
import { createMailReceiver } from '../../../appliance/inbound/inbound.ts'
import { createEmailContentReader, createIntake, type Notice } from '../../../appliance/intake/intake.ts'
import { createMimeReader } from '../../../appliance/mime/mime.ts'
import {
  createProviderRuleChecker,
  createQuotas,
  createRateLimiter,
  createSenders,
  type Plans,
  type Senders,
} from '../../../appliance/senders/senders.ts'
import { newId } from '../../../appliance/mail/ids.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import type { Email, PutArgs, RequestLog, Storage } from '../../../appliance/storage/storage.ts'
import type { ProviderRules } from '../../../appliance/mail/provider-rules.ts'
import { createPublicMx } from '../../../appliance/inbound/public-mx.ts'
import { createSmtpServer, type SmtpConfig, type SmtpServer } from '../../../appliance/smtp/smtp.ts'
import { createSubmission, type SubmissionDeps } from '../../../appliance/submission/submission.ts'
import { createSilentLogger } from '../../../appliance/watch/log.ts'
import { openCertificates, type CertificateFiles } from '../../../appliance/wire/certificates.ts'
import { createGuardedFetch } from '../../../appliance/wire/fetch.ts'
import { parseNetworks } from '../../../appliance/wire/networks.ts'
import type { Capacity, CapacityOptions } from '../../../appliance/capacity/capacity.ts'
import { testCapacity } from '../../world/capacity.ts'
import { createTestClock, type TestClock } from '../../world/clock.ts'
import { likelyFreePort } from '../../world/addresses.ts'

/** The real SMTP listeners on real storage, with one team. */
export interface Door {
  capacity: Capacity
  /** Listener ports. `relay` behaves like port 25. */
  ports: { starttls: number; implicit: number; trusted: number; relay: number }
  /** Ports of second listeners of those kinds, like 2587 and 2465. */
  alternatives: { starttls: number; implicit: number }
  storage: Storage
  senders: Senders
  clock: TestClock
  teamId: string
  /** Tokens: full access, sending access, and sending access for acme.example only. */
  keys: { full: string; sending: string; restricted: string }
  dataDir: string
  /** What was stored so far. */
  puts: PutArgs[]
  /** Session logs so far. */
  logs: RequestLog[]
  /** Mail to postmaster that was forwarded so far. */
  notices: Notice[]
  certificates: Awaited<ReturnType<typeof openCertificates>>
  server: SmtpServer
  emails(): Promise<Email[]>
  message(id: string): Promise<string>
  /** Returns an email's content, as the API shows it. */
  content(id: string): Promise<{ html: string | null; text: string | null }>
  close(): Promise<void>
}

export interface DoorOptions {
  config?: Partial<SmtpConfig & SubmissionDeps['config']>
  plans?: Plans
  perSecond?: number
  clock?: TestClock
  files?: CertificateFiles
  capacity?: Partial<CapacityOptions>
  additional?: CertificateFiles[]
  /** Rules of mailbox providers. Default: mail isn't checked by any. */
  rules?: ProviderRules
  /** Delays `put` until this promise resolves. */
  hold?: Promise<void>
  /** Where mail to postmaster is forwarded. */
  postmaster?: string
  /** DNS servers, as `ip:port`. By default, none answers. */
  servers?: string[]
  /** Makes lookups of recipients fail in storage. */
  deaf?: boolean
}

/** Nothing is signed here. Real keys would take half a second per domain. */
const noKeys = async () => ({ privateKey: new Uint8Array([1]), publicKey: 'AQ==' })

export async function startDoor(options: DoorOptions = {}): Promise<Door> {
  const dataDir = await mkdtemp(join(tmpdir(), 'posthaste-smtp-'))
  const clock = options.clock ?? createTestClock()
  const log = createSilentLogger()
  const storage = await openSqlite({ dataDir })
  const resolver = createResolver({ servers: options.servers ?? ['127.0.0.1:9'], clock, timeoutMs: 500 })
  const host = { hostname: 'mail.acme.example', sourceIps: [] }
  const senders = createSenders({ storage, resolver, clock, config: host, log, keygen: noKeys })
  const accounts = createAccounts({ storage, clock })
  const owner = { email: 'owner@acme.example', password: 'a quiet harbour at dusk', teamName: 'Acme' }
  const { team } = await accounts.createOwner(owner)
  const teamId = team.id
  const names = ['acme.example', 'second.example', 'new.example']
  const [acme, second] = await Promise.all(names.map((name) => senders.addDomain({ teamId, name })))
  for (const { id } of [acme!, second!])
    await storage.saveDomainCheck({ teamId, id, status: 'verified', checks: [] }, clock.now())
  const make = (permission: 'full_access' | 'sending_access', domainId?: string) =>
    senders.createKey({ teamId, name: 'key', permission, domainId })
  const [full, sending, restricted] = [
    await make('full_access'),
    await make('sending_access'),
    await make('sending_access', acme!.id),
  ]
  const quotas = createQuotas({ storage, clock, plans: options.plans ?? new Map() })
  const fetch = createGuardedFetch({
    lookup: async () => [],
    clock,
    allowNetworks: [],
    ownAddresses: () => [],
    deadlineMs: 1000,
    agent: 'x',
  })
  const messageBytes = options.config?.messageBytes ?? 1_000_000
  const capacity = testCapacity(clock, dataDir, { messageBytes, ...options.capacity })
  const mime = createMimeReader({ clock, turns: capacity.turns })
  const puts: PutArgs[] = []
  const held: Pick<Storage, 'put'> = {
    async put(args, now) {
      await options.hold
      puts.push(args)
      return storage.put(args, now)
    },
  }
  const intake = createIntake({
    storage: Object.assign(Object.create(storage) as Storage, held),
    senders,
    quotas,
    fetch,
    mime,
    clock,
    limits: { message_bytes: messageBytes },
    gate: options.rules && createProviderRuleChecker({ storage, clock, rules: () => options.rules! }),
    wake: () => undefined,
  })
  const certificates = await openCertificates({
    files: options.files,
    additional: options.additional,
    dataDir,
    hostname: host.hostname,
    clock,
  })
  const logs: RequestLog[] = []
  const notices: Notice[] = []
  const { formats, reasons } = loadReturnedMailRules()
  const tables = { formats, rules: [...reasons, ...loadBounceRules()] }
  const failing = { findReturnPath: () => Promise.reject(new Error('the disk is gone')) }
  const inbound = createMailReceiver({
    storage: options.deaf ? { ...storage, ...failing } : storage,
    sendNotice: async (notice) => {
      notices.push(notice)
      return { sent: true, emailId: newId(clock.now()) }
    },
    clock,
    log,
    mime,
    intake,
    resolver,
    hostname: host.hostname,
    messageBytes,
    postmaster: options.postmaster,
    tables: () => tables,
  })
  const relay = likelyFreePort()
  const config = { hostname: host.hostname, messageBytes, hideClient: false, ...options.config }
  const rateLimiter = createRateLimiter({ clock, perSecond: options.perSecond ?? 1_000_000 })
  const server = createSmtpServer({
    submission: createSubmission({ senders, rateLimiter, intake, mime, clock, config }),
    publicMx: createPublicMx(inbound),
    certificates,
    capacity,
    requestLog: { add: (entry) => void logs.push(entry) },
    clock,
    log,
    config: { proxyProtocolFrom: [], mxPort: relay, ...config },
  })
  const trusted = {
    name: 'trusted' as const,
    networks: parseNetworks(['127.0.0.1/32']),
    apiKeyId: sending.key.id,
  }
  const bound = await server.listen([
    { address: '127.0.0.1:0', kind: { name: 'starttls' } },
    { address: '127.0.0.1:0', kind: { name: 'implicit_tls' } },
    { address: '127.0.0.1:0', kind: trusted },
    { address: `127.0.0.1:${relay}`, kind: { name: 'starttls' } },
    { address: '127.0.0.1:0', kind: { name: 'starttls' } },
    { address: '127.0.0.1:0', kind: { name: 'implicit_tls' } },
  ])
  const port = (at: number) => Number(bound[at]!.split(':').at(-1))
  const contents = createEmailContentReader({ storage, clock, turns: capacity.turns, mime })
  const emails = async () => {
    const { items } = await storage.listEmails({ teamId, limit: 1000 }, clock.now())
    return Promise.all(items.map(async ({ id }) => (await storage.getEmail({ teamId, id }, clock.now()))!))
  }
  return {
    server,
    capacity,
    ports: { starttls: port(0), implicit: port(1), trusted: port(2), relay },
    alternatives: { starttls: port(4), implicit: port(5) },
    storage,
    senders,
    clock,
    teamId,
    dataDir,
    puts,
    logs,
    notices,
    certificates,
    emails,
    keys: { full: full.token, sending: sending.token, restricted: restricted.token },
    content: async (id) => contents.of((await storage.getEmail({ teamId, id }, clock.now()))!),
    message: async (id) =>
      Buffer.from((await storage.getMessage({ emailId: id }, clock.now()))!).toString('latin1'),
    async close() {
      await server.close()
      await inbound.close()
      certificates.close()
      await intake.close()
      await senders.close()
      resolver.close()
      await storage.close()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
