/** Opens the certificates of HTTPS and SMTP, their renewal, and the HTTP listeners. */
import { readFileSync } from 'node:fs'
import type { Capacity } from '../capacity/capacity.ts'
import {
  createAcmeManager,
  type AcmeManager,
  type SharedSecrets,
  type WantedCertificate,
} from '../certificates/certificates.ts'
import type { Clock } from '../clock/clock.ts'
import type { Config } from '../config/config.ts'
import { createChallengeListener } from '../http/challenge-listener.ts'
import type { Http } from '../http/http.ts'
import { getDelegatedName } from '../senders/aliases.ts'
import { getPolicyHost } from '../senders/senders.ts'
import { getPolicyCheckKey, getTrackingCheckKey } from '../senders/records.ts'
import type { Domain, Storage } from '../storage/storage.ts'
import type { ComposeOptions } from './appliance.ts'
import { createPolicies, canServePolicies, type Policies } from './mta-sts.ts'
import { isShared } from './node.ts'
import { VERSION } from './version.ts'
import type { Turn } from '../watch/duties.ts'
import type { Logger } from '../watch/log.ts'
import { openCertificates, type Certificates } from '../wire/certificates.ts'
import { StartupError } from '../wire/listeners.ts'

/** The certificates of all TLS listeners, and their renewal. */
export interface CertificateServices {
  certificates: Certificates
  /** Manages ACME certificates; null if ACME is off. */
  acme: AcmeManager | null
  /** The MTA-STS policies of delegated subdomains. */
  policies: Policies
}

type NamedSecrets = 'secret' | 'findSecret' | 'listSecrets' | 'replaceSecret' | 'removeSecret'

interface Ground {
  storage: Pick<Storage, 'trackingDomains' | 'servedDomains' | NamedSecrets>
  duties: { turn: (name: 'certificates') => Turn }
  clock: Clock
  log: Logger
  started: AsyncDisposableStack
  options: Pick<ComposeOptions, 'policyHosts'>
}

/** Opens the certificates. Issuance starts only after `listenHttp` has opened the ports that the CA validates. */
export async function openCertificateServices(
  config: Config,
  ground: Ground,
  sandbox: boolean,
): Promise<CertificateServices> {
  const { clock, log, started } = ground
  const { tls, acme } = config
  const certificates = await openCertificates({
    files: tls.cert === undefined || tls.key === undefined ? undefined : { cert: tls.cert, key: tls.key },
    additional: tls.additional,
    dataDir: config.data_dir,
    hostname: config.hostname,
    clock,
    onReload: (err) => {
      if (err) log.error({ err }, 'certificates not reloaded: the old ones stay in use')
      else log.info('certificates reloaded')
    },
  })
  started.defer(() => certificates.close())
  const { hostname } = config
  const policies = createPolicies({ hostname, certificates, clock, ca: ground.options.policyHosts?.ca })
  const managed = acme.agree_terms && !sandbox
  return { certificates, policies, acme: managed ? openAcme(config, ground, certificates) : null }
}

/** Returns access to named secrets in the database, as texts. */
function sharedSecrets(storage: Pick<Storage, NamedSecrets>, clock: Clock): SharedSecrets {
  const toBytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text))
  const toText = (value: Uint8Array): string => Buffer.from(value).toString('utf8')
  return {
    once: async (name, fresh) => toText(await storage.secret({ name, fresh: toBytes(fresh) }, clock.now())),
    async find(name) {
      const found = await storage.findSecret({ name }, clock.now())
      return found && toText(found)
    },
    async list(folder) {
      const found = await storage.listSecrets({ folder }, clock.now())
      return new Map(found.map(({ name, value }) => [name.slice(folder.length + 1), toText(value)]))
    },
    replace: (name, value) => storage.replaceSecret({ name, value: toBytes(value) }, clock.now()),
    remove: (name) => storage.removeSecret({ name }, clock.now()),
  }
}

function openAcme(
  config: Config,
  { clock, log, storage, duties }: Ground,
  certificates: Certificates,
): AcmeManager {
  const { acme, data_dir: dataDir } = config
  const { eab_key_id: keyId, eab_hmac_key: hmacKey, hook, hook_seconds: seconds } = acme
  return createAcmeManager({
    clock,
    log,
    wanted: async () => {
      const tracking = await storage.trackingDomains({}, clock.now())
      if (!canServePolicies(config)) return listWantedCertificates(config, tracking)
      const served = await storage.servedDomains({ selectors: [] }, clock.now())
      return listWantedCertificates(
        config,
        tracking,
        served.map(({ domain }) => domain),
      )
    },
    use: (pairs) => certificates.use(pairs),
    random: Math.random,
    shared: isShared(config)
      ? { secrets: sharedSecrets(storage, clock), turn: duties.turn('certificates') }
      : undefined,
    options: {
      dataDir,
      directory: acme.directory,
      email: acme.email,
      challenge: acme.challenge,
      hook: hook === undefined ? undefined : { file: hook, seconds },
      binding: keyId === undefined || hmacKey === undefined ? undefined : { keyId, hmacKey },
      ca: acme.ca === undefined ? undefined : readAuthority(acme.ca),
      agent: `Posthaste/${VERSION}`,
    },
  })
}

function readAuthority(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new StartupError(
      `acme.ca: ${file} cannot be read (${code}). Correct the path or its permissions.`,
      {
        cause: error,
      },
    )
  }
}

/**
 * Lists the certificates that are needed: one for the host and its additional names, one per tracking host, and one per
 * host of an MTA-STS policy, so that a domain with broken records affects no other certificate. Pure.
 * @param delegating domains that delegate records, when this server serves policies
 */
export function listWantedCertificates(
  { hostname, tls, acme }: Pick<Config, 'hostname' | 'tls' | 'acme'>,
  domains: readonly Pick<Domain, 'name' | 'trackingSubdomain' | 'checks'>[],
  delegating: readonly Pick<Domain, 'name' | 'returnPath' | 'delegation' | 'checks'>[] = [],
): WantedCertificate[] {
  // Names covered by certificate files are excluded.
  const own = [...(tls.cert === undefined ? [hostname] : []), ...acme.names].map((name) => name.toLowerCase())
  const names = [...new Set(own)]
  const tracking = acme.tracking_hosts ? domains.flatMap(trackingHostOf) : []
  const hosts = [...tracking, ...delegating.flatMap(policyHostOf)]
  const others = [...new Set(hosts)].filter((host) => !names.includes(host))
  const host = names.length === 0 ? [] : [{ id: names[0]!, names }]
  return [...host, ...others.map((name) => ({ id: name, names: [name] }))]
}

/** Returns the domain's tracking host if its record was found. Without the record, the CA can't validate it. */
function trackingHostOf(domain: Pick<Domain, 'name' | 'trackingSubdomain' | 'checks'>): string[] {
  const { name, trackingSubdomain, checks } = domain
  if (trackingSubdomain === null) return []
  const key = getTrackingCheckKey({ name, trackingSubdomain })
  const seen = checks.some((one) => one.key === key && one.status === 'verified')
  return seen ? [`${trackingSubdomain}.${name}`] : []
}

/** Returns the host of the MTA-STS policy of a domain that delegates its return path, if its record was found. */
function policyHostOf(domain: Pick<Domain, 'name' | 'returnPath' | 'delegation' | 'checks'>): string[] {
  const apex = getDelegatedName(domain)
  const key = getPolicyCheckKey(apex)
  const seen = domain.checks.some((one) => one.key === key && one.status === 'verified')
  return domain.delegation === 'ns' && seen ? [getPolicyHost(apex)] : []
}

/** Opens all HTTP listeners, then starts certificate renewal. Returns the origins, those of `http.listen` first. */
export async function listenHttp(
  http: Pick<Http, 'listen'>,
  { http: listeners, acme: asked }: Config,
  { acme, capacity }: Pick<CertificateServices, 'acme'> & { capacity: Pick<Capacity, 'http' | 'budgets'> },
  started: AsyncDisposableStack,
): Promise<string[]> {
  const origins = [
    ...(await http.listen(listeners.listen, 'listen')),
    ...(await http.listen(listeners.tls_listen, 'tls_listen')),
    ...(await http.listen(listeners.admin_listen, 'admin_listen')),
    ...(await http.listen(listeners.admin_tls_listen, 'admin_tls_listen')),
  ]
  if (!acme) return origins
  const challenges = createChallengeListener((token) => acme.http(token), capacity)
  started.defer(() => challenges.close())
  await challenges.listen(asked.http_listen)
  started.defer(() => acme.stop())
  await acme.start()
  return origins
}
