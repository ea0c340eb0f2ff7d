/** The certificates that HTTPS and SMTP show, where they come from, and the listeners of HTTP. */
import { readFileSync } from 'node:fs'
import type { Capacity } from '../capacity/capacity.ts'
import { createAcme, type Acme, type Wanted } from '../certificates/certificates.ts'
import type { Clock } from '../clock/clock.ts'
import type { Config } from '../config/config.ts'
import { createChallengeListener } from '../http/challenge-listener.ts'
import type { Http } from '../http/http.ts'
import { trackingKeyOf } from '../senders/records.ts'
import type { Domain, Storage } from '../storage/storage.ts'
import { VERSION } from './version.ts'
import type { Logger } from '../watch/log.ts'
import { openCertificates, type Certificates } from '../wire/certificates.ts'
import { CannotStart } from '../wire/listeners.ts'

/** What every listener that speaks TLS shows, and what looks after it. */
export interface Certified {
  certificates: Certificates
  /** Null: no authority is to be asked. */
  acme: Acme | null
}

interface Ground {
  storage: Pick<Storage, 'trackingDomains'>
  clock: Clock
  log: Logger
  started: AsyncDisposableStack
}

/** Opens the certificates; the authority is asked once `listenHttp` has put up what it looks at. */
export async function openCertified(config: Config, ground: Ground, sandbox: boolean): Promise<Certified> {
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
  if (!acme.agree_terms || sandbox) return { certificates, acme: null }
  return { certificates, acme: openAcme(config, ground, certificates) }
}

function openAcme(config: Config, { clock, log, storage }: Ground, certificates: Certificates): Acme {
  const { acme, data_dir: dataDir } = config
  const { eab_key_id: keyId, eab_hmac_key: hmacKey, hook, hook_seconds: seconds } = acme
  return createAcme({
    clock,
    log,
    wanted: async () => wantedOf(config, await storage.trackingDomains({}, clock.now())),
    use: (pairs) => certificates.use(pairs),
    random: Math.random,
    options: {
      ...{ dataDir, directory: acme.directory, email: acme.email, challenge: acme.challenge },
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
    throw new CannotStart(`acme.ca: ${file} cannot be read (${code}). Correct the path or its permissions.`, {
      cause: error,
    })
  }
}

/**
 * The certificates that should be there: one for the host and the names beside it, and one for each tracking host, so that
 * a domain whose records break takes nobody else's certificate with it. Pure.
 */
export function wantedOf(
  { hostname, tls, acme }: Pick<Config, 'hostname' | 'tls' | 'acme'>,
  domains: readonly Pick<Domain, 'name' | 'trackingSubdomain' | 'checks'>[],
): Wanted[] {
  // What the files certify is theirs.
  const own = [...(tls.cert === undefined ? [hostname] : []), ...acme.names].map((name) => name.toLowerCase())
  const names = [...new Set(own)]
  const hosts = acme.tracking_hosts ? domains.flatMap(trackingHostOf) : []
  const others = [...new Set(hosts)].filter((host) => !names.includes(host))
  const host = names.length === 0 ? [] : [{ id: names[0]!, names }]
  return [...host, ...others.map((name) => ({ id: name, names: [name] }))]
}

/** A tracking host whose record was seen: before it leads here, no authority would believe us. */
function trackingHostOf(domain: Pick<Domain, 'name' | 'trackingSubdomain' | 'checks'>): string[] {
  const { name, trackingSubdomain, checks } = domain
  if (trackingSubdomain === null) return []
  const key = trackingKeyOf({ name, trackingSubdomain })
  const seen = checks.some((one) => one.key === key && one.status === 'verified')
  return seen ? [`${trackingSubdomain}.${name}`] : []
}

/** Binds all that speaks HTTP, then begins to look after certificates. Returns the origins, those of `http.listen` first. */
export async function listenHttp(
  http: Pick<Http, 'listen'>,
  { http: doors, acme: asked }: Config,
  { acme, capacity }: Pick<Certified, 'acme'> & { capacity: Pick<Capacity, 'http' | 'budgets'> },
  started: AsyncDisposableStack,
): Promise<string[]> {
  const origins = [
    ...(await http.listen(doors.listen, 'listen')),
    ...(await http.listen(doors.tls_listen, 'tls_listen')),
    ...(await http.listen(doors.admin_listen, 'admin_listen')),
    ...(await http.listen(doors.admin_tls_listen, 'admin_tls_listen')),
  ]
  if (!acme) return origins
  const challenges = createChallengeListener((token) => acme.http(token), capacity)
  started.defer(() => challenges.close())
  await challenges.listen(asked.http_listen)
  started.defer(() => acme.stop())
  await acme.start()
  return origins
}
