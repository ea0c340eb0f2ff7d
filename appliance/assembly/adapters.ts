/** Creates the real implementations of all interfaces from the configuration. */
import { statfs } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { type ContactOperations, createContactOperations } from '../audience/audience.ts'
import type { Clock } from '../clock/clock.ts'
import { loadBlocklists, loadTargets, type Blocklist, type Config } from '../config/config.ts'
import { ConfigSchema } from '../config/schema.ts'
import { createTlsPolicies, type TlsPolicies, type TlsPolicyDeps } from '../delivery/delivery.ts'
import type { Resolver, AuthorityResolver } from '../dns/dns.ts'
import { createResolver, type ResolverOptions } from '../dns/resolver.ts'
import { runChecks, probeAddress, type DoctorDeps } from '../insights/insights.ts'
import {
  createSourceRegistry,
  createSourceWatcher,
  isPublicAddress,
  type SourceRegistry,
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
import { LOST_MS } from '../mail/node.ts'
import { createTlsReporter, type TlsReporter, type TlsReporterDeps } from '../reports/tls-reports.ts'
import type { SendingHost } from '../senders/records.ts'
import type { Domain, Storage } from '../storage/storage.ts'
import { createSmtpServer, type ListenRequest, type SmtpServerDeps } from '../smtp/smtp.ts'
import { canServePolicies } from './mta-sts.ts'
import { getNodeId, loadOrCreateNodeId } from './node-id.ts'
import { importOptions } from './options.ts'
import { VERSION } from './version.ts'
import type { Logger } from '../watch/log.ts'
import { createGuardedFetch, type GuardedFetch } from '../wire/fetch.ts'
import { createPostClient, type PostClient } from '../wire/post.ts'
import {
  isForbiddenTarget,
  type Cidr,
  parseNetworks,
  PRIVATE_NETWORKS,
  listMachineAddresses,
  createAddressCache,
} from '../wire/networks.ts'

/** Creates the resolver; `change` overrides options for the sandbox and tests. */
export function openResolver(
  config: Config,
  clock: Clock,
  change: Partial<ResolverOptions> = {},
): Resolver & AuthorityResolver {
  // Some networks are forbidden, because the owner of a zone can point its NS records to any address.
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

/** Time limit for fetching an attachment (milliseconds). */
const FETCH_DEADLINE = 10_000

/**
 * Creates the fetcher for URLs given by callers. `allowNetworks` is for tests: by default, private networks are
 * refused.
 */
export function createFetcher(
  resolver: Resolver,
  clock: Clock,
  { allowNetworks = [] }: { allowNetworks?: readonly Cidr[] | undefined } = {},
): GuardedFetch {
  const lookup = (name: string): Promise<string[]> => lookUpAddresses(resolver, name)
  const agent = `Posthaste/${VERSION}`
  const ownAddresses = createAddressCache(clock)
  return createGuardedFetch({
    lookup,
    clock,
    allowNetworks,
    ownAddresses,
    deadlineMs: FETCH_DEADLINE,
    agent,
  })
}

/** Time limit for a request to an endpoint (milliseconds), and bytes of its response that are stored. */
const WEBHOOK_DEADLINE = 15_000
const WEBHOOK_READ = 65_536
const WEBHOOK_KEEP = 4096

/** For tests: another deadline (milliseconds), a custom CA. */
export interface WebhookHostOptions {
  ca?: string | undefined
  deadlineMs?: number | undefined
}

/** Returns the addresses that webhooks may reach, and this machine's own addresses. */
const webhookTargets = ({ webhooks }: Config, clock: Clock) => ({
  allowNetworks: parseNetworks(webhooks.allow_networks),
  ownAddresses: createAddressCache(clock),
})

function openPoster(
  resolver: Resolver,
  clock: Clock,
  targets: ReturnType<typeof webhookTargets>,
  { ca, deadlineMs = WEBHOOK_DEADLINE }: WebhookHostOptions,
): PostClient {
  const lookup = (name: string): Promise<string[]> => lookUpAddresses(resolver, name)
  const bytes = { readBytes: WEBHOOK_READ, keepBytes: WEBHOOK_KEEP }
  return createPostClient({ lookup, clock, ...targets, deadlineMs, ca, ...bytes })
}

const WEBHOOK_AGENT = `Posthaste-Webhooks/${VERSION}`

/** Opens webhooks, which send events to apps. */
export function openEvents(
  config: Config,
  deps: Omit<EventsDeps, 'poster' | 'agent' | keyof ReturnType<typeof webhookTargets>> & {
    resolver: Resolver
  },
  hosts: WebhookHostOptions = {},
): Events {
  const targets = webhookTargets(config, deps.clock)
  const poster = openPoster(deps.resolver, deps.clock, targets, hosts)
  return createEvents({ ...deps, ...targets, poster, agent: WEBHOOK_AGENT })
}

/** Opens webhooks for commands, which manage them while the daemon sends; `close` releases resources. */
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

/** RFC 8461 §3.3 suggests a minute for the policy; reports get the same. */
const POLICY_DEADLINE = 60_000

/** For tests: a policy host on another port, with a certificate of another CA, on a private network. */
export interface PolicyHostOptions {
  port?: number | undefined
  ca?: string | undefined
  allowNetworks?: readonly Cidr[] | undefined
}

/** Creates the HTTPS client for recipient domains: MTA-STS policies, and reports to them. */
export function createPolicyFetch(
  config: Config,
  resolver: Resolver,
  clock: Clock,
  { ca, allowNetworks }: PolicyHostOptions = {},
): GuardedFetch {
  const allowed = allowNetworks ?? parseNetworks(config.delivery.allow_networks)
  const lookup = (name: string): Promise<string[]> => lookUpAddresses(resolver, name)
  const agent = `Posthaste/${VERSION}`
  return createGuardedFetch({
    lookup,
    clock,
    allowNetworks: allowed,
    ownAddresses: createAddressCache(clock),
    deadlineMs: POLICY_DEADLINE,
    agent,
    ca,
  })
}

/** Opens the TLS policies of recipient domains. */
export function openTlsPolicies(
  config: Config,
  deps: Omit<TlsPolicyDeps, 'options' | 'fetch'> & { resolver: Resolver },
  hosts: PolicyHostOptions & { deliveryPort?: number } = {},
): TlsPolicies {
  const port = hosts.deliveryPort ?? config.delivery.port
  const fetch = createPolicyFetch(config, deps.resolver, deps.clock, hosts)
  return createTlsPolicies({
    ...deps,
    fetch,
    options: { trustAd: config.dns.trust_ad, port, stsPort: hosts.port },
  })
}

/**
 * Returns the host name in `http.public_url`; undefined for an IP or a name without a dot, which can't be the target of
 * a CNAME.
 */
function webHostOf({ http }: Config): string | undefined {
  const { hostname } = new URL(http.public_url ?? 'http://localhost')
  return /^(?=.*[a-z])[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(hostname) ? hostname : undefined
}

/** Opens contacts for commands. Imported files stay in the data directory until the daemon reads them. */
export function openContactOperations(config: Config, storage: Storage, clock: Clock): ContactOperations {
  const hasRoom = async () => {
    const { bavail, bsize } = await statfs(config.data_dir)
    return bavail * bsize >= config.storage.min_free_mb * 1_000_000
  }
  return createContactOperations({ storage, clock, imports: { ...importOptions(config), hasRoom } })
}

/** Returns the zone of the DNS server, and its names; undefined if none is configured. */
function nameserverNames({ hostname, nameserver }: Config): SendingHost['nameserver'] {
  const { zone, names, rotate_days: days } = nameserver
  if (zone === undefined) return undefined
  const lower = (names.length > 0 ? names : [hostname]).map((name) => name.toLowerCase())
  return { zone: zone.toLowerCase(), names: lower, rotateMs: days * 86_400_000 }
}

/** Opens the sending IPs. */
export async function openSourceRegistry(
  config: Config,
  storage: Storage,
  clock: Clock,
): Promise<SourceRegistry> {
  const { source_ips: configured, warm_up: warmUp } = config.delivery
  const webHost = webHostOf(config)
  const nodeId = await getNodeId(config, storage, clock.now())
  const adopt = (ips: string[]) => storage.adoptSources({ nodeId, ips, lostAfter: LOST_MS }, clock.now())
  const book = createSourceRegistry({
    storage,
    nodeId,
    clock,
    hostname: config.hostname,
    adopt: config.storage.engine === 'postgres' ? adopt : undefined,
    webHost,
    nameserver: nameserverNames(config),
    policies: canServePolicies(config),
    configured,
    warmUp,
  })
  // Load the data for `host` before anyone asks for it.
  await book.list()
  return book
}

/** Creates the checks of the sending IPs on the real machine. */
export function openSourceWatcher(
  config: Config,
  deps: { storage: Storage; book: SourceRegistry; resolver: Resolver; clock: Clock; log: Logger },
  options: { pollMs: number; onChange: () => void; blocklists: () => readonly Blocklist[] },
): SourceWatcher {
  const { blocklists, ...watching } = options
  const look = () => ({
    resolver: deps.resolver,
    blocklists: blocklists(),
    hostname: config.hostname,
    local: listMachineAddresses,
    isPublic: isPublicAddress,
    probe: probeAddress,
  })
  return createSourceWatcher({ ...deps, ...watching, look, random: Math.random })
}

/** Creates the doctor's checks. Throws `InvalidTable` for invalid data tables. */
export function createDoctor(
  config: Config,
  blocklists: () => readonly Blocklist[] = always(loadBlocklists(config.doctor.blocklists)),
): (
  deps: Omit<DoctorDeps, 'config' | 'blocklists' | 'targets'>,
  only?: Domain,
  tell?: (findings: Finding[]) => void,
) => Promise<Finding[]> {
  const targets = loadTargets(config.doctor.targets)
  return async (deps, only, tell) => {
    const nodeId = config.storage.engine === 'postgres' ? await loadOrCreateNodeId(config) : undefined
    return runChecks({ ...deps, config, nodeId, blocklists: blocklists(), targets }, only, tell)
  }
}

/** Wraps a table that is never reloaded, for commands, which end soon. */
function always<T>(value: T): () => T {
  return () => value
}

/** Creates the reporter for TLS reports to recipient domains. */
export function openTlsReporter(
  config: Config,
  deps: Omit<TlsReporterDeps, 'fetch' | 'hostname' | 'from' | 'contact'> & { resolver: Resolver },
  hosts: PolicyHostOptions = {},
): TlsReporter {
  const fetch = createPolicyFetch(config, deps.resolver, deps.clock, hosts)
  const { from, contact } = config.tls_reports
  return createTlsReporter({ ...deps, fetch, hostname: config.hostname, from, contact })
}

/** The open SMTP listeners. */
export interface SmtpListeners {
  /** Addresses by protocol, `host:port` with the actual ports. */
  starttls: string[]
  implicitTls: string[]
  close(): Promise<void>
}

/** Opens the SMTP listeners. Rejects with a message for people if a port can't be used. */
export async function openSmtp(config: Config, deps: Omit<SmtpServerDeps, 'config'>): Promise<SmtpListeners> {
  const { hostname, smtp } = config
  const proxyProtocolFrom = parseNetworks(smtp.proxy_protocol_from)
  const server = createSmtpServer({ ...deps, config: { hostname, proxyProtocolFrom, mxPort: smtp.mx_port } })
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

/**
 * Lists the listeners to open. Default ports may be taken or forbidden on machines that don't need SMTP; configured
 * ports are required.
 */
function listenRequests(name: 'starttls' | 'implicit_tls', addresses: string[]): ListenRequest[] {
  const { default: preset } = ConfigSchema.properties.smtp.properties[name] as { default?: unknown }
  const byDefault = isDeepStrictEqual(addresses, preset)
  return addresses.map((address) => ({ address, kind: { name }, byDefault }))
}

function trustedListener({ listen, networks, api_key_id }: Config['smtp']['trusted'][number]): ListenRequest {
  const kind = { name: 'trusted' as const, networks: parseNetworks(networks), apiKeyId: api_key_id }
  return { address: listen, kind }
}
