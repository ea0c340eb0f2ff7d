import type { ConfigError } from './complaint.ts'
import { checkBucket } from './cross-check-s3.ts'
import type { ConfiguredValue } from './environment.ts'
import { splitPostgresUrl } from './postgres-url.ts'
import { checkProviders, type ProviderTable } from './sign-in.ts'

/** Finds settings that contradict each other. Runs only if each setting is valid by itself. */
export function crossCheck(
  values: ReadonlyMap<string, unknown>,
  given: ReadonlyMap<string, ConfiguredValue>,
): ConfigError[] {
  const complaints: ConfigError[] = []
  const complain = (key: string, message: string) => {
    const place = given.get(key)?.at('') ?? { file: null, line: null, variable: null, key }
    complaints.push({ ...place, message })
  }
  const [cert, key] = [values.get('tls.cert'), values.get('tls.key')]
  if ((cert === undefined) !== (key === undefined))
    complain(
      cert === undefined ? 'tls.key' : 'tls.cert',
      'tls.cert and tls.key belong together: set both or neither.',
    )
  for (const { key, message } of checkStorage(values, given)) complain(key, message)
  for (const { key, message } of checkFailover(values, given)) complain(key, message)
  for (const { key, message } of checkBucket(values, given)) complain(key, message)
  for (const { key, message } of checkAcme(values, given)) complain(key, message)
  for (const { key, message } of checkListeners(values, given)) complain(key, message)
  for (const { key, message } of checkAlerts(values, given)) complain(key, message)
  for (const { key, message } of checkNameserver(values, given)) complain(key, message)
  const postmaster = values.get('smtp.postmaster') as string | undefined
  if (postmaster?.toLowerCase().endsWith(`@${String(values.get('hostname')).toLowerCase()}`))
    complain(
      'smtp.postmaster',
      'smtp.postmaster is an address on this server. Set an address on another server.',
    )
  const all = 'delivery.max_connections'
  const one = 'delivery.max_connections_per_domain'
  const [most, each] = [Number(values.get(all)), Number(values.get(one))]
  if (each > most) complain(given.has(one) ? one : all, `${one} is ${each}, more than ${all} (${most}).`)
  const providers = values.get('sign_in.providers') as ProviderTable[]
  const publicUrl = (values.get('http.admin_url') ?? values.get('http.public_url')) as string | undefined
  for (const { path, message } of checkProviders(providers, publicUrl)) {
    const place = given.get('sign_in.providers')?.at(path)
    complaints.push({ ...(place ?? { file: null, line: null, variable: null, key: null }), message })
  }
  return complaints
}

/** Alert kinds with levels, and the suffix of their configuration keys. */
const LEVELS = [
  ['bounces', '_percent'],
  ['complaints', '_percent'],
  ['deferrals', '_percent'],
  ['bulk', '_percent'],
  ['dmarc', '_percent'],
  ['tls', '_percent'],
  ['queue', ''],
] as const

/** Checks that each kind of alert closes below the level at which it opens. */
function checkAlerts(
  values: ReadonlyMap<string, unknown>,
  given: ReadonlyMap<string, ConfiguredValue>,
): { key: string; message: string }[] {
  return LEVELS.flatMap(([kind, end]) => {
    const opens = `alerts.${kind}_opens${end}`
    const closes = `alerts.${kind}_closes${end}`
    const [high, low] = [values.get(opens), values.get(closes)] as (number | undefined)[]
    const key = given.has(closes) ? closes : opens
    if (high === undefined && low === undefined) return []
    if (high === undefined || low === undefined)
      return [{ key, message: `${opens} and ${closes} belong together: set both or neither.` }]
    return low < high ? [] : [{ key, message: `${closes} is ${low}, not below ${opens} (${high}).` }]
  })
}

/** Listeners in the order in which errors about them are reported. */
const LISTENERS = [
  'http.listen',
  'http.tls_listen',
  'http.admin_listen',
  'http.admin_tls_listen',
  'smtp.starttls',
  'smtp.implicit_tls',
  'smtp.trusted',
  'metrics.listen',
  'acme.http_listen',
  'nameserver.listen',
]

/** Checks that no two listeners share an address. Port 0 picks a free port each time. */
function checkListeners(
  values: ReadonlyMap<string, unknown>,
  given: ReadonlyMap<string, ConfiguredValue>,
): { key: string; message: string }[] {
  const taken = new Map<string, string>()
  const wrong: { key: string; message: string }[] = []
  for (const key of LISTENERS)
    for (const one of (values.get(key) ?? []) as (string | { listen: string })[]) {
      const address = typeof one === 'string' ? one : one.listen
      const first = taken.get(address)
      if (first === undefined || address.endsWith(':0')) taken.set(address, key)
      else
        wrong.push({
          key: given.has(key) ? key : first,
          message:
            first === key
              ? `${key} lists ${address} twice.`
              : `${key} and ${first} both have ${address}. Use a different port for each.`,
        })
    }
  return wrong
}

/** Checks [storage]: what PostgreSQL requires, and settings that only it has. */
function checkStorage(
  values: ReadonlyMap<string, unknown>,
  given: ReadonlyMap<string, ConfiguredValue>,
): { key: string; message: string }[] {
  const ofPostgres = ['storage.url', 'storage.password_file', 'storage.tls', 'storage.tls_ca']
  const [engine, tls] = [values.get('storage.engine'), values.get('storage.tls')]
  if (engine !== 'postgres')
    return ofPostgres
      .filter((key) => given.has(key))
      .map((key) => ({ key, message: `${key} has no effect unless storage.engine is "postgres".` }))
  const url = values.get('storage.url')
  if (url === undefined)
    return [{ key: 'storage.engine', message: 'storage.engine "postgres" requires storage.url.' }]
  const wrong: { key: string; message: string }[] = []
  if (given.has('storage.password_file') && splitPostgresUrl(url as string)?.[0]?.password !== '')
    wrong.push({
      key: 'storage.password_file',
      message: 'storage.url contains a password, too. Set only one of the two.',
    })
  if (given.has('storage.tls_ca') && tls !== undefined && tls !== 'verify')
    wrong.push({
      key: 'storage.tls_ca',
      message: 'storage.tls_ca has no effect unless storage.tls is "verify".',
    })
  return wrong
}

/** Checks [failover]: it needs a region, another one, and a database that nodes share. */
function checkFailover(
  values: ReadonlyMap<string, unknown>,
  given: ReadonlyMap<string, ConfiguredValue>,
): { key: string; message: string }[] {
  const key = 'failover.region'
  const [target, region] = [values.get(key), values.get('region')]
  if (target === undefined)
    return given.has('failover.after_seconds')
      ? [{ key: 'failover.after_seconds', message: `failover.after_seconds has no effect without ${key}.` }]
      : []
  if (values.get('storage.engine') !== 'postgres')
    return [{ key, message: `${key} has no effect unless storage.engine is "postgres".` }]
  if (region === undefined) return [{ key, message: `${key} requires region, the region of this machine.` }]
  return region === target
    ? [{ key, message: `${key} is the region of this machine. Name another one.` }]
    : []
}

/** Checks [nameserver]: its zone must neither hide this server nor contain the names of the DNS servers. */
function checkNameserver(
  values: ReadonlyMap<string, unknown>,
  given: ReadonlyMap<string, ConfiguredValue>,
): { key: string; message: string }[] {
  const zone = (values.get('nameserver.zone') as string | undefined)?.toLowerCase()
  if (zone === undefined)
    return ['nameserver.listen', 'nameserver.names', 'nameserver.rotate_days']
      .filter((key) => given.has(key))
      .map((key) => ({ key, message: `${key} has no effect without nameserver.zone.` }))
  const within = (name: string): boolean => `.${name.toLowerCase()}`.endsWith(`.${zone}`)
  const wrong: { key: string; message: string }[] = []
  const hostname = String(values.get('hostname'))
  if (within(hostname))
    wrong.push({
      key: 'nameserver.zone',
      message: `nameserver.zone contains hostname (${hostname}). Choose a name below or beside it, such as dns.${hostname}.`,
    })
  const inside = (values.get('nameserver.names') as string[]).find(within)
  if (inside !== undefined)
    wrong.push({
      key: 'nameserver.names',
      message: `nameserver.names has ${inside}, which is in nameserver.zone. Use names outside the zone.`,
    })
  return wrong
}

/** Checks [acme]: what each challenge type requires, and settings that exclude each other. */
function checkAcme(
  values: ReadonlyMap<string, unknown>,
  given: ReadonlyMap<string, ConfiguredValue>,
): { key: string; message: string }[] {
  const wrong: { key: string; message: string }[] = []
  const value = (key: string): unknown => values.get(`acme.${key}`)
  const written = [...given.keys()].find((key) => key.startsWith('acme.'))
  if (value('agree_terms') !== true)
    return written === undefined || given.has('acme.agree_terms')
      ? []
      : [
          {
            key: written,
            message: `${written} has no effect until acme.agree_terms is true. Read the terms of the certificate authority, then set it.`,
          },
        ]
  const challenge = value('challenge')
  if (challenge === 'dns-01' && value('hook') === undefined)
    wrong.push({ key: 'acme.challenge', message: 'acme.challenge "dns-01" requires acme.hook.' })
  const secure = ['http.tls_listen', 'http.admin_tls_listen'].some(
    (key) => (values.get(key) as string[] | undefined)?.length,
  )
  if (challenge === 'tls-alpn-01' && !secure)
    wrong.push({ key: 'acme.challenge', message: 'acme.challenge "tls-alpn-01" requires http.tls_listen.' })
  if ((value('eab_key_id') === undefined) !== (value('eab_hmac_key') === undefined))
    wrong.push({
      key: value('eab_key_id') === undefined ? 'acme.eab_hmac_key' : 'acme.eab_key_id',
      message: 'acme.eab_key_id and acme.eab_hmac_key belong together: set both or neither.',
    })
  return wrong
}
