/** The real adapters behind the ports, as the configuration asks for them. */
import { statfs } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { type ContactBook, createContactBook } from '../audience/audience.ts'
import type { Clock } from '../clock/clock.ts'
import { loadBlocklists, loadTargets, type Blocklist, type Config } from '../config/config.ts'
import { ConfigSchema } from '../config/schema.ts'
import { createTlsPolicies, type TlsPolicies, type TlsPolicyDeps } from '../delivery/delivery.ts'
import type { Resolver, Surveyor } from '../dns/dns.ts'
import { createResolver, type ResolverOptions } from '../dns/resolver.ts'
import { examine, probeAddress, type DoctorDeps } from '../insights/insights.ts'
import {
  createSourceBook,
  createSourceWatcher,
  isPublicAddress,
  type SourceBook,
  type SourceWatcher,
} from '../sources/sources.ts'
import {
  createEvents,
  createWebhooks,
  type Events,
  type EventsDeps,
  type Webhooks,
} from '../events/events.ts'
import type { Finding } from '../mail/finding.ts'
import { createTlsReporter, type TlsReporter, type TlsReporterDeps } from '../reports/tls-reports.ts'
import type { Domain, Storage } from '../storage/storage.ts'
import { createSmtpServer, type ListenRequest, type SmtpServerDeps } from '../smtp/smtp.ts'
import { importOptions } from './options.ts'
import { VERSION } from './version.ts'
import type { Logger } from '../watch/log.ts'
import { createGuardedFetch, type GuardedFetch } from '../wire/fetch.ts'
import { createPoster, type Poster } from '../wire/post.ts'
import {
  isForbiddenTarget,
  type Cidr,
  parseNetworks,
  PRIVATE_NETWORKS,
  machineAddresses,
  refreshedAddresses,
} from '../wire/networks.ts'

/** Makes the resolver; `change` overrides, for the sandbox and tests. */
export function openResolver(
  config: Config,
  clock: Clock,
  change: Partial<ResolverOptions> = {},
): Resolver & Surveyor {
  // The owner of a zone chooses where its NS records point to.
  const allowed = [...parseNetworks(config.delivery.allow_networks), ...PRIVATE_NETWORKS]
  const isForbidden = (ip: string): boolean => isForbiddenTarget(ip, allowed)
  return createResolver({ servers: config.dns.servers, clock, isForbidden, ...change })
}

async function lookUpAddresses(resolver: Resolver, name: string): Promise<string[]> {
  const answers = await Promise.all([resolver.resolve(name, 'A'), resolver.resolve(name, 'AAAA')])
  const found = answers.flatMap((answer) => (answer.kind === 'found' ? answer.records : []))
  const failed = answers.find((answer) => answer.kind === 'failed')
  if (found.length === 0 && failed) throw new Error(failed.note)
  return found
}

/** How long an attachment may take to arrive (milliseconds). */
const FETCH_DEADLINE = 10_000

/** Makes the fetcher for URLs that callers give; `allowNetworks` is for tests: nothing of ours is to be fetched. */
export function openFetch(
  resolver: Resolver,
  clock: Clock,
  { allowNetworks = [] }: { allowNetworks?: readonly Cidr[] | undefined } = {},
): GuardedFetch {
  const lookup = (name: string): Promise<string[]> => lookUpAddresses(resolver, name)
  const agent = `Posthaste/${VERSION}`
  const ownAddresses = refreshedAddresses(clock)
  return createGuardedFetch({
    lookup,
    clock,
    allowNetworks,
    ownAddresses,
    deadlineMs: FETCH_DEADLINE,
    agent,
  })
}

/** For a whole request to an endpoint (milliseconds), and bytes of its answer that are read and kept. */
const WEBHOOK_DEADLINE = 15_000
const WEBHOOK_READ = 65_536
const WEBHOOK_KEEP = 4096

/** For tests: another deadline (milliseconds), a certificate authority of their own. */
export interface WebhookHosts {
  ca?: string | undefined
  deadlineMs?: number | undefined
}

/** Which addresses webhooks may reach. */
const webhookTargets = ({ webhooks }: Config, clock: Clock) => ({
  allowNetworks: parseNetworks(webhooks.allow_networks),
  ownAddresses: refreshedAddresses(clock),
})

function openPoster(
  resolver: Resolver,
  clock: Clock,
  targets: ReturnType<typeof webhookTargets>,
  { ca, deadlineMs = WEBHOOK_DEADLINE }: WebhookHosts,
): Poster {
  const lookup = (name: string): Promise<string[]> => lookUpAddresses(resolver, name)
  const bytes = { readBytes: WEBHOOK_READ, keepBytes: WEBHOOK_KEEP }
  return createPoster({ lookup, clock, ...targets, deadlineMs, ca, ...bytes })
}

const WEBHOOK_AGENT = `Posthaste-Webhooks/${VERSION}`

/** What tells the apps of events. */
export function openEvents(
  config: Config,
  deps: Omit<EventsDeps, 'poster' | 'agent' | keyof ReturnType<typeof webhookTargets>> & {
    resolver: Resolver
  },
  hosts: WebhookHosts = {},
): Events {
  const targets = webhookTargets(config, deps.clock)
  const poster = openPoster(deps.resolver, deps.clock, targets, hosts)
  return createEvents({ ...deps, ...targets, poster, agent: WEBHOOK_AGENT })
}

/** Webhooks as commands manage them, beside the daemon that sends; `close` ends what they hold. */
export function openWebhooks(
  config: Config,
  { storage, resolver, clock }: { storage: Storage; resolver: Resolver; clock: Clock },
): { webhooks: Webhooks; close(): void } {
  const targets = webhookTargets(config, clock)
  const poster = openPoster(resolver, clock, targets, {})
  const wake = (): void => undefined
  const webhooks = createWebhooks({ storage, poster, clock, agent: WEBHOOK_AGENT, ...targets, wake })
  return { webhooks, close: () => poster.close() }
}

/** RFC 8461 §3.3 suggests a minute for the policy; a report has as long. */
const POLICY_DEADLINE = 60_000

/** For tests: a policy host that listens elsewhere, with a certificate of another authority, on a network that is not public. */
export interface PolicyHosts {
  port?: number | undefined
  ca?: string | undefined
  allowNetworks?: readonly Cidr[] | undefined
}

/** What speaks HTTPS with recipient domains: their MTA-STS policies, and reports to them. */
export function openPolicyFetch(
  config: Config,
  resolver: Resolver,
  clock: Clock,
  { ca, allowNetworks }: PolicyHosts = {},
): GuardedFetch {
  const allowed = allowNetworks ?? parseNetworks(config.delivery.allow_networks)
  const lookup = (name: string): Promise<string[]> => lookUpAddresses(resolver, name)
  const agent = `Posthaste/${VERSION}`
  return createGuardedFetch({
    lookup,
    clock,
    allowNetworks: allowed,
    ownAddresses: refreshedAddresses(clock),
    deadlineMs: POLICY_DEADLINE,
    agent,
    ca,
  })
}

/** The TLS policies of recipient domains. */
export function openTlsPolicies(
  config: Config,
  deps: Omit<TlsPolicyDeps, 'options' | 'fetch'> & { resolver: Resolver },
  hosts: PolicyHosts & { deliveryPort?: number } = {},
): TlsPolicies {
  const port = hosts.deliveryPort ?? config.delivery.port
  const fetch = openPolicyFetch(config, deps.resolver, deps.clock, hosts)
  return createTlsPolicies({
    ...deps,
    fetch,
    options: { trustAd: config.dns.trust_ad, port, stsPort: hosts.port },
  })
}

/** The name in `http.public_url`; undefined for an address or a name without a dot, which no CNAME can lead to from outside. */
function webHostOf({ http }: Config): string | undefined {
  const { hostname } = new URL(http.public_url ?? 'http://localhost')
  return /^(?=.*[a-z])[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(hostname) ? hostname : undefined
}

/** Contacts, for commands. Files that they import wait in the data directory until the daemon reads them. */
export function openContactBook(config: Config, storage: Storage, clock: Clock): ContactBook {
  const hasRoom = async () => {
    const { bavail, bsize } = await statfs(config.data_dir)
    return bavail * bsize >= config.storage.min_free_mb * 1_000_000
  }
  return createContactBook({ storage, clock, imports: { ...importOptions(config), hasRoom } })
}

/** The book of the addresses that mail leaves from. */
export async function openSourceBook(config: Config, storage: Storage, clock: Clock): Promise<SourceBook> {
  const { source_ips: configured, warm_up: warmUp } = config.delivery
  const webHost = webHostOf(config)
  const nodeId = await storage.thisNode({}, clock.now())
  const book = createSourceBook({
    ...{ storage, nodeId, clock, hostname: config.hostname },
    ...{ webHost, configured, warmUp },
  })
  // What the book's `host` goes by is read once before anybody asks.
  await book.list()
  return book
}

/** Makes what looks after the sources, on the real machine. */
export function openSourceWatcher(
  config: Config,
  deps: { storage: Storage; book: SourceBook; resolver: Resolver; clock: Clock; log: Logger },
  options: { pollMs: number; onChange: () => void; blocklists: () => readonly Blocklist[] },
): SourceWatcher {
  const { blocklists, ...watching } = options
  const look = () => ({
    resolver: deps.resolver,
    blocklists: blocklists(),
    hostname: config.hostname,
    local: machineAddresses,
    isPublic: isPublicAddress,
    probe: probeAddress,
  })
  return createSourceWatcher({ ...deps, ...watching, look, random: Math.random })
}

/** Makes the self-checks. Throws `TableRefused` for data that cannot be used. */
export function openDoctor(
  config: Config,
  blocklists: () => readonly Blocklist[] = always(loadBlocklists(config.doctor.blocklists)),
): (
  deps: Omit<DoctorDeps, 'config' | 'blocklists' | 'targets'>,
  only?: Domain,
  tell?: (findings: Finding[]) => void,
) => Promise<Finding[]> {
  const targets = loadTargets(config.doctor.targets)
  return (deps, only, tell) => examine({ ...deps, config, blocklists: blocklists(), targets }, only, tell)
}

/** A table that nobody exchanges: commands end soon. */
function always<T>(value: T): () => T {
  return () => value
}

/** Reports to recipient domains about TLS. */
export function openTlsReporter(
  config: Config,
  deps: Omit<TlsReporterDeps, 'fetch' | 'hostname' | 'from' | 'contact'> & { resolver: Resolver },
  hosts: PolicyHosts = {},
): TlsReporter {
  const fetch = openPolicyFetch(config, deps.resolver, deps.clock, hosts)
  const { from, contact } = config.tls_reports
  return createTlsReporter({ ...deps, fetch, hostname: config.hostname, from, contact })
}

/** The SMTP door, listening. */
export interface OpenSmtp {
  /** The addresses by what they speak, `host:port` with the ports that they really got. */
  starttls: string[]
  implicitTls: string[]
  close(): Promise<void>
}

/** Opens the SMTP door. Rejects with a sentence when a port cannot be used. */
export async function openSmtp(config: Config, deps: Omit<SmtpServerDeps, 'config'>): Promise<OpenSmtp> {
  const { hostname, smtp } = config
  const proxyProtocolFrom = parseNetworks(smtp.proxy_protocol_from)
  const server = createSmtpServer({ ...deps, config: { hostname, proxyProtocolFrom } })
  const starttls = listenRequests('starttls', smtp.starttls)
  const implicit = listenRequests('implicit_tls', smtp.implicit_tls)
  const requests: ListenRequest[] = [...starttls, ...implicit, ...smtp.trusted.map(trustedListener)]
  const bound = await server.listen(requests)
  return {
    starttls: bound.slice(0, starttls.length).filter((address) => address !== null),
    implicitTls: bound
      .slice(starttls.length, -smtp.trusted.length || undefined)
      .filter((one) => one !== null),
    close: () => server.close(),
  }
}

/** The ports of the defaults may be taken or forbidden on a machine where nobody wants SMTP; ports that were chosen must be had. */
function listenRequests(name: 'starttls' | 'implicit_tls', addresses: string[]): ListenRequest[] {
  const { default: preset } = ConfigSchema.properties.smtp.properties[name] as { default?: unknown }
  const byDefault = isDeepStrictEqual(addresses, preset)
  return addresses.map((address) => ({ address, kind: { name }, byDefault }))
}

function trustedListener({ listen, networks, api_key_id }: Config['smtp']['trusted'][number]): ListenRequest {
  const kind = { name: 'trusted' as const, networks: parseNetworks(networks), apiKeyId: api_key_id }
  return { address: listen, kind }
}
