/** The real adapters behind the ports, as the configuration asks for them. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from './clock/clock.ts'
import type { Config } from './config/config.ts'
import { ConfigSchema } from './config/schema.ts'
import type { Resolver } from './dns/dns.ts'
import { createResolver, type ResolverOptions } from './dns/resolver.ts'
import { remembered } from './storage/remembered.ts'
import { openSqlite } from './storage/sqlite/sqlite.ts'
import type { Storage } from './storage/storage.ts'
import { createSubmission, type ListenRequest, type SubmissionDeps } from './submission/submission.ts'
import { VERSION } from './version.ts'
import { openCertificates } from './wire/certificates.ts'
import { createGuardedFetch, type GuardedFetch } from './wire/fetch.ts'
import { isForbiddenTarget, type Cidr, parseNetworks, PRIVATE_NETWORKS } from './wire/networks.ts'

/**
 * Opens the storage; it is made, or brought up to date, when it has to be. Rejects with a sentence for people.
 * @param onLost called when the engine died: nothing can be stored or read any more
 */
export async function openStorage(config: Config, onLost?: (error: Error) => void): Promise<Storage> {
  return remembered(await openSqlite({ dataDir: config.data_dir, ...(onLost ? { onLost } : {}) }))
}

/** Number of the newest schema that this program knows. */
export async function schemaVersion(): Promise<number> {
  const files = await readdir(join(import.meta.dirname, 'storage', 'migrations', 'sqlite'))
  return Math.max(...files.map((name) => Number.parseInt(name, 10)).filter(Number.isInteger))
}

/** Makes the resolver; `change` overrides, for the sandbox and tests. */
export function openResolver(config: Config, clock: Clock, change: Partial<ResolverOptions> = {}): Resolver {
  // The owner of a zone chooses where its NS records point to.
  const allowed = [...parseNetworks(config.delivery.allow_networks), ...PRIVATE_NETWORKS]
  const isForbidden = (ip: string): boolean => isForbiddenTarget(ip, allowed)
  return createResolver({ servers: config.dns.servers, clock, isForbidden, ...change })
}

/** How long an attachment may take to arrive (milliseconds). */
const FETCH_DEADLINE = 10_000

/** Makes the fetcher for URLs that callers give; `allowNetworks` is for tests: nothing of ours is to be fetched. */
export function openFetch(
  resolver: Resolver,
  clock: Clock,
  { allowNetworks = [] }: { allowNetworks?: readonly Cidr[] | undefined } = {},
): GuardedFetch {
  const lookup = async (name: string): Promise<string[]> => {
    const answers = await Promise.all([resolver.resolve(name, 'A'), resolver.resolve(name, 'AAAA')])
    const found = answers.flatMap((answer) => (answer.kind === 'found' ? answer.records : []))
    const failed = answers.find((answer) => answer.kind === 'failed')
    if (found.length === 0 && failed) throw new Error(failed.note)
    return found
  }
  const agent = `Posthaste/${VERSION}`
  return createGuardedFetch({ lookup, clock, allowNetworks, deadlineMs: FETCH_DEADLINE, agent })
}

/** The SMTP door, listening. */
export interface OpenSubmission {
  /** The addresses by what they speak, `host:port` with the ports that they really got. */
  starttls: string[]
  implicitTls: string[]
  close(): Promise<void>
}

/** Opens the SMTP door with its certificates. Rejects with a sentence when a port or a file cannot be used. */
export async function openSubmission(
  config: Config,
  deps: Omit<SubmissionDeps, 'certificates' | 'config'>,
): Promise<OpenSubmission> {
  const { smtp, tls } = config
  const certificates = await openCertificates({
    files: tls.cert === undefined || tls.key === undefined ? undefined : { cert: tls.cert, key: tls.key },
    additional: tls.additional,
    dataDir: config.data_dir,
    hostname: config.hostname,
    clock: deps.clock,
    onReload: (err) => {
      if (err) deps.log.error({ err }, 'certificates not reloaded: the old ones stay in use')
      else deps.log.info('certificates reloaded')
    },
  })
  const submission = createSubmission({ ...deps, certificates, config: submissionConfig(config) })
  const starttls = listenRequests('starttls', smtp.starttls)
  const implicit = listenRequests('implicit_tls', smtp.implicit_tls)
  const requests: ListenRequest[] = [...starttls, ...implicit, ...smtp.trusted.map(trustedListener)]
  try {
    const bound = await submission.listen(requests)
    return {
      starttls: bound.slice(0, starttls.length).filter((address) => address !== null),
      implicitTls: bound
        .slice(starttls.length, -smtp.trusted.length || undefined)
        .filter((one) => one !== null),
      async close() {
        await submission.close()
        certificates.close()
      },
    }
  } catch (error) {
    certificates.close()
    throw error
  }
}

/** The ports of the defaults may be taken or forbidden on a machine where nobody wants SMTP; ports that were chosen must be had. */
function listenRequests(name: 'starttls' | 'implicit_tls', addresses: string[]): ListenRequest[] {
  const { default: preset } = ConfigSchema.properties.smtp.properties[name] as { default?: unknown }
  const byDefault = isDeepStrictEqual(addresses, preset)
  return addresses.map((address) => ({ address, kind: { name }, byDefault }))
}

function submissionConfig({ hostname, smtp, limits }: Config): SubmissionDeps['config'] {
  return {
    hostname,
    messageBytes: limits.message_bytes,
    maxConnections: smtp.max_connections,
    maxConnectionsPerAddress: smtp.max_connections_per_address,
    proxyProtocolFrom: parseNetworks(smtp.proxy_protocol_from),
  }
}

function trustedListener({ listen, networks, api_key_id }: Config['smtp']['trusted'][number]): ListenRequest {
  const kind = { name: 'trusted' as const, networks: parseNetworks(networks), apiKeyId: api_key_id }
  return { address: listen, kind }
}
