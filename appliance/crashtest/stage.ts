/** The scratch directory, the daemon's small internet, and the sending account. */
import { once } from 'node:events'
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAccounts } from '../accounts/accounts.ts'
import type { Clock } from '../clock/clock.ts'
import { loadConfig, type Config } from '../config/config.ts'
import type { Resolver } from '../dns/dns.ts'
import { EMAIL_EVENTS } from '../mail/event.ts'
import { startZoneServer, type ZoneEntry } from '../sandbox/zone.ts'
import type { ExpectedRecord } from '../senders/records.ts'
import { createSenders } from '../senders/senders.ts'
import type { Storage } from '../storage/storage.ts'
import { SCRATCH_MARK } from '../watch/crash-points.ts'
import { runCommand } from './daemon.ts'
import type { Dice } from './plan.ts'

/** The real storage and resolver, which only the object graph knows. */
export interface Parts {
  openStorage: (config: Config) => Promise<Storage>
  openResolver: (
    config: Config,
    clock: Clock,
    change: { servers: string[]; authoritativePort: number },
  ) => Resolver
}

export interface Stage {
  /** The directory of this test. */
  folder: string
  /** The configuration file of the daemon. */
  configFile: string
  config: Config
  url: string
  smtpPort: number
  /** The public MX. */
  mxPort: number
  from: string
  /** A domain that receives mail. */
  receiving: string
  domains: readonly string[]
  /**
   * Creates team, verified domain and key, and a listener for SMTP with it; returns the key. Not while the daemon runs.
   */
  setUp(): Promise<string>
  close(): Promise<void>
}

const SENDER = 'sender.test'
const RECEIVING = 'receiving.test'
const HOSTNAME = `mail.${SENDER}`
/** Each is a separate mailbox provider, so that the limits of one lane don't limit the test. */
const DOMAINS = Array.from({ length: 12 }, (_, n) => `crash${n + 1}.test`)

export interface StageDeps {
  /** Port of the exchangers. */
  deliveryPort: number
  /** URL of the webhook endpoint. */
  endpoint: string
  /** URL of the PostgreSQL database; undefined with SQLite. */
  database: string | undefined
  clock: Clock
  dice: Dice
}

/** Creates the directory, the configuration and the DNS. */
export async function openStage(
  { openStorage, openResolver }: Parts,
  { deliveryPort, endpoint, database, clock, dice }: StageDeps,
): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-crashtest-'))
  const dataDir = join(folder, 'data')
  await mkdir(dataDir, { mode: 0o700 })
  await writeFile(join(dataDir, SCRATCH_MARK), 'Made by posthaste crashtest. Its mail is not real.\n')
  const published = new Map<string, ZoneEntry>()
  const dns = await startZoneServer({
    zone: (name) => Promise.resolve(published.get(name) ?? entryOf(name)),
    nameServer: { host: `ns.${SENDER}`, address: '127.0.0.1' },
  })
  const [httpPort, smtpPort, mxPort] = [await freePort(dice), await freePort(dice), await freePort(dice)]
  const server = `${dns.address}:${dns.port}`
  const configFile = join(folder, 'posthaste.toml')
  const write = (apiKeyId: string | null): Promise<void> =>
    writeFile(
      configFile,
      toml({ dataDir, httpPort, smtpPort, mxPort, server, deliveryPort, database, apiKeyId }),
    )
  await write(null)
  const loaded = loadConfig({ file: configFile, env: {} })
  if ('complaints' in loaded) throw new Error(JSON.stringify(loaded.complaints))
  const { config } = loaded
  return {
    folder,
    configFile,
    config,
    url: `http://127.0.0.1:${httpPort}`,
    smtpPort,
    mxPort,
    receiving: RECEIVING,
    from: `app@${SENDER}`,
    domains: DOMAINS,
    async setUp() {
      await using opened = new AsyncDisposableStack()
      const storage = await openStorage(config)
      opened.defer(() => storage.close())
      const resolver = openResolver(config, clock, { servers: [server], authoritativePort: dns.port })
      opened.defer(() => resolver.close())
      const { id, token } = await makeAccount({ storage, resolver, clock, published })
      await write(id)
      await storage.close()
      await runCommand(
        ['webhook', 'add', endpoint, '--events', [...EMAIL_EVENTS, 'email.received'].join(',')],
        configFile,
      )
      // So that every start has something to remove.
      await runCommand(['domain', 'bodies', SENDER, 'discard'], configFile)
      return token
    },
    close: () => dns.close(),
  }
}

async function makeAccount({
  storage,
  resolver,
  clock,
  published,
}: {
  storage: Storage
  resolver: Resolver
  clock: Clock
  published: Map<string, ZoneEntry>
}): Promise<{ id: string; token: string }> {
  const host = { hostname: HOSTNAME, sourceIps: [] }
  const senders = createSenders({ storage, resolver, clock, config: host })
  const accounts = createAccounts({ storage, clock })
  const owner = { email: `owner@${SENDER}`, password: crypto.randomUUID(), teamName: 'Crash test' }
  const { team } = await accounts.createOwner(owner)
  for (const name of [SENDER, RECEIVING]) {
    const settings = { receiving: name === RECEIVING }
    const domain = await senders.addDomain({ teamId: team.id, name, settings })
    publish(published, await senders.expectedRecords(domain))
    await senders.verifyDomain({ teamId: team.id, id: domain.id })
  }
  const { key, token } = await senders.createKey({
    teamId: team.id,
    name: 'crashtest',
    permission: 'full_access',
  })
  await senders.close()
  return { id: key.id, token }
}

function publish(published: Map<string, ZoneEntry>, records: readonly ExpectedRecord[]): void {
  for (const [fqdn, here] of Map.groupBy(records, (record) => record.fqdn))
    published.set(fqdn, {
      TXT: here.filter(({ type }) => type === 'TXT').map(({ value }) => value),
      MX: here
        .filter(({ type }) => type === 'MX')
        .map(({ value, priority }) => ({ preference: priority ?? 10, exchange: value })),
    })
}

/** Returns the records of names other than those the sending domain publishes. */
function entryOf(name: string): ZoneEntry {
  if (DOMAINS.includes(name)) return { MX: { preference: 10, exchange: `mx.${name}` } }
  if (name === HOSTNAME || (name.startsWith('mx.') && DOMAINS.includes(name.slice(3))))
    return { A: '127.0.0.1' }
  return 'NXDOMAIN'
}

function toml(args: {
  dataDir: string
  httpPort: number
  smtpPort: number
  mxPort: number
  server: string
  deliveryPort: number
  database: string | undefined
  apiKeyId: string | null
}): string {
  const storage =
    args.database === undefined
      ? ''
      : `[storage]
engine = "postgres"
url = ${JSON.stringify(args.database)}
`
  const trusted =
    args.apiKeyId === null
      ? ''
      : `[[smtp.trusted]]
listen = "127.0.0.1:${args.smtpPort}"
networks = ["127.0.0.0/8"]
api_key_id = "${args.apiKeyId}"
`
  return `hostname = "${HOSTNAME}"
data_dir = ${JSON.stringify(args.dataDir)}
[http]
listen = ["127.0.0.1:${args.httpPort}"]
[smtp]
starttls = ["127.0.0.1:${args.mxPort}"]
mx_port = ${args.mxPort}
implicit_tls = []
${trusted}${storage}[dns]
servers = ["${args.server}"]
[delivery]
port = ${args.deliveryPort}
allow_networks = ["127.0.0.0/8"]
[webhooks]
allow_networks = ["127.0.0.0/8"]
[limits]
rate_per_second = 1000000
[logs]
retention_days = 0
`
}

/**
 * Picks a free port of loopback, below those that the kernel assigns to outgoing connections. Otherwise, a client that
 * connects while the daemon is down could get the daemon's port for itself.
 */
async function freePort(dice: Dice): Promise<number> {
  for (;;) {
    const port = dice.between(20_000, 32_000)
    const server = createServer()
    server.listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
    } catch {
      // In use, so try another one.
      continue
    }
    const closed = once(server, 'close')
    server.close()
    await closed
    return port
  }
}
