/** The test's environment: a directory, a DNS server for test domains, and the sending account. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAccounts } from '../accounts/accounts.ts'
import type { Clock } from '../clock/clock.ts'
import type { Config } from '../config/config.ts'
import type { Resolver } from '../dns/dns.ts'
import { EMAIL_EVENTS } from '../mail/event.ts'
import { startZoneServer, type ZoneEntry } from '../sandbox/zone.ts'
import type { ExpectedRecord } from '../senders/records.ts'
import { createSenders } from '../senders/senders.ts'
import type { Storage } from '../storage/storage.ts'
import { runCommand } from './daemon.ts'
import type { RandomGenerator } from './plan.ts'
import { addNode, type TestNode, type WritableNode } from './environment-node.ts'

/** The real storage and resolver, which are created by the object graph. */
export interface CrashtestAdapters {
  openStorage: (config: Config) => Promise<Storage>
  openResolver: (
    config: Config,
    clock: Clock,
    change: { servers: string[]; authoritativePort: number },
  ) => Resolver
}

export interface TestEnvironment {
  /** The directory of this test. */
  folder: string
  /** The nodes, at least one. */
  nodes: readonly [TestNode, ...TestNode[]]
  from: string
  /** A domain that receives mail. */
  receiving: string
  domains: readonly string[]
  /**
   * Creates a team, a verified domain and a key, and an SMTP listener with that key on each node. Returns the key. No
   * daemon may be running.
   */
  setUp(): Promise<string>
  close(): Promise<void>
}

const SENDER = 'sender.test'
const RECEIVING = 'receiving.test'
const HOSTNAME = `mail.${SENDER}`
/** Recipient domains. Each is a separate mailbox provider, so that the limits of one lane don't slow the test. */
const DOMAINS = Array.from({ length: 12 }, (_, n) => `crash${n + 1}.test`)

export interface TestEnvironmentDeps {
  /** Port of the exchangers. */
  deliveryPort: number
  /** URL of the webhook endpoint. */
  endpoint: string
  /** URL of the PostgreSQL database; undefined with SQLite. */
  database: string | undefined
  /** The sending IP of each node. Empty for a single node, whose operating system chooses. */
  sourceIps: readonly string[]
  clock: Clock
  dice: RandomGenerator
}

/** Creates the directory, the configuration and the DNS. */
export async function createTestEnvironment(
  { openStorage, openResolver }: CrashtestAdapters,
  { deliveryPort, endpoint, database, sourceIps, clock, dice }: TestEnvironmentDeps,
): Promise<TestEnvironment> {
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-crashtest-'))
  const published = new Map<string, ZoneEntry>()
  const dns = await startZoneServer({
    zone: (name) => Promise.resolve(published.get(name) ?? entryOf(name)),
    nameServer: { host: `ns.${SENDER}`, address: '127.0.0.1' },
  })
  const server = `${dns.address}:${dns.port}`
  const masterKey = join(folder, 'master.key')
  await writeFile(masterKey, randomBytes(32).toString('base64'), { mode: 0o600 })
  const shared = { hostname: HOSTNAME, server, deliveryPort, database, masterKey }
  const nodes: WritableNode[] = []
  for (const [at, sourceIp] of (sourceIps.length > 0 ? sourceIps : [undefined]).entries())
    nodes.push(await addNode(join(folder, `node${at + 1}`), { ...shared, sourceIp, dice }))
  const first = nodes[0]!
  return {
    folder,
    nodes: nodes as [WritableNode, ...WritableNode[]],
    receiving: RECEIVING,
    from: `app@${SENDER}`,
    domains: DOMAINS,
    async setUp() {
      await using opened = new AsyncDisposableStack()
      const storage = await openStorage(first.config)
      opened.defer(() => storage.close())
      const resolver = openResolver(first.config, clock, { servers: [server], authoritativePort: dns.port })
      opened.defer(() => resolver.close())
      const { id, token } = await makeAccount({ storage, resolver, clock, published, sourceIps })
      for (const node of nodes) await node.write(id)
      await storage.close()
      await runCommand(
        ['webhook', 'add', endpoint, '--events', [...EMAIL_EVENTS, 'email.received'].join(',')],
        first.configFile,
      )
      // Discard bodies, so that every start has something to remove.
      await runCommand(['domain', 'bodies', SENDER, 'discard'], first.configFile)
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
  sourceIps,
}: {
  storage: Storage
  resolver: Resolver
  clock: Clock
  published: Map<string, ZoneEntry>
  sourceIps: readonly string[]
}): Promise<{ id: string; token: string }> {
  const host = { hostname: HOSTNAME, sourceIps: [...sourceIps] }
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

/** Returns the records of names that the sending domain doesn't publish. */
function entryOf(name: string): ZoneEntry {
  if (DOMAINS.includes(name)) return { MX: { preference: 10, exchange: `mx.${name}` } }
  if (name === HOSTNAME || (name.startsWith('mx.') && DOMAINS.includes(name.slice(3))))
    return { A: '127.0.0.1' }
  return 'NXDOMAIN'
}
