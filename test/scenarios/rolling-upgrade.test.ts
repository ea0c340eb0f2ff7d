import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Static } from 'typebox'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { NodeList } from '../../appliance/api/nodes.ts'
import { compose, type RunningDaemon } from '../../appliance/compose.ts'
import type { Config } from '../../appliance/config/config.ts'
import { newestPostgresSchema } from '../../appliance/storage/postgres/postgres.ts'
import { createSilentLogger } from '../../appliance/watch/log.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { PATIENCE } from '../world/patience.ts'
import { createWorld, type World } from '../world/world.ts'
import { findPostgresPrograms, startCluster, type Cluster } from '../unit/storage/postgres/cluster.ts'

/** Nodes with different versions on one PostgreSQL database. The newer ones have further migrations. */

const SHIPPED = join(import.meta.dirname, '../../appliance/storage/migrations/postgres')
const SCHEMA = newestPostgresSchema()

let cluster: Cluster
let world: World
let folder: string
let url: string
/** The node with this version. */
let old: TestAppliance
const others: RunningDaemon[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'posthaste-upgrade-'))
  ;[cluster, world] = await Promise.all([
    startCluster(findPostgresPrograms(), { safe: true }),
    createWorld({ domains: { 'good.test': { mx: [{ preference: 10, host: 'mx.good.test' }] } } }),
  ])
  url = await cluster.createDatabase()
  const config = { storage: { engine: 'postgres', url }, delivery: { source_ips: ['127.0.0.8'] } }
  old = await startAppliance({ world, config: config as Partial<Config>, pollMs: 200 })
}, PATIENCE)

afterAll(async () => {
  await Promise.all(others.map((one) => one.stop()))
  await old?.close()
  await world?.close()
  await cluster?.close()
  await rm(folder, { recursive: true, force: true })
})

/** Migrations that come after those of this version, in order. */
const EXPAND = `-- Works with schema ${SCHEMA}.
alter table emails add column note text;
alter table deliveries add column note text;`
const CONTRACT = `-- Works with schema ${SCHEMA + 1}.
alter table deliveries drop column note;`

/** Starts a node with a newer version, which has these further migrations. */
async function startNewer(version: string, ip: string, further: readonly string[]): Promise<RunningDaemon> {
  const migrations = join(folder, `migrations-${version}`)
  await mkdir(migrations)
  await cp(SHIPPED, migrations, { recursive: true })
  for (const [at, text] of further.entries()) {
    const number = String(SCHEMA + 1 + at).padStart(4, '0')
    await writeFile(join(migrations, `${number}_further.sql`), `${text}\n`)
  }
  const { config } = old
  const node = await compose(
    {
      ...config,
      data_dir: join(folder, `data-${version}`),
      secrets: { ...config.secrets, master_key_file: join(config.data_dir, 'master.key') },
      delivery: { ...config.delivery, source_ips: [ip] },
    },
    {
      log: createSilentLogger(),
      clock: world.clock,
      resolver: { authoritativePort: world.authoritativePort },
      pollMs: 200,
      program: { version, migrations },
    },
  )
  others.push(node)
  return node
}

async function send(origin: string, subject: string): Promise<void> {
  const response = await fetch(`${origin}/emails`, {
    method: 'POST',
    headers: { authorization: `Bearer ${old.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ from: 'hello@sender.test', to: 'ada@good.test', subject, text: 'Hi' }),
  })
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)])
}

const arrived = (): string[] =>
  world
    .mailboxOf('mx.good.test')
    .map(({ raw }) => /^Subject: (.*)\r$/m.exec(raw.toString())![1]!)
    .toSorted()

const eventually = <T>(read: () => T | Promise<T>) => expect.poll(read, { timeout: PATIENCE, interval: 50 })

const versions = async () =>
  (await old.call<Static<typeof NodeList>>('GET', '/nodes')).body.data
    .map(({ version, state, storage }) => ({ version, state, schema: storage.schema }))
    .toSorted((a, b) => a.version.localeCompare(b.version))

test(
  'a newer version expands the schema while an older one runs, and both send mail',
  { timeout: PATIENCE },
  async () => {
    await send(old.url, 'Before')
    await eventually(arrived).toEqual(['Before'])
    const newer = await startNewer('9.1.0', '127.0.0.9', [EXPAND])
    await send(old.url, 'Older')
    await send(newer.url, 'Newer')
    await eventually(arrived).toEqual(['Before', 'Newer', 'Older'])
    expect(await versions()).toEqual([
      { version: '0.1.0', state: 'active', schema: SCHEMA },
      { version: '9.1.0', state: 'active', schema: SCHEMA + 1 },
    ])
  },
)

test('an older version starts on the expanded schema', { timeout: PATIENCE }, async () => {
  await old.restart()
  await send(old.url, 'Restarted')
  await eventually(arrived).toContain('Restarted')
})

test(
  'a version whose migration an older node does not work with waits for that node',
  { timeout: PATIENCE },
  async () => {
    await expect(startNewer('9.2.0', '127.0.0.10', [EXPAND, CONTRACT])).rejects.toThrow(
      new RegExp(
        `can't be upgraded while older nodes are running: .+ \\(version 0\\.1\\.0, schema ${SCHEMA}\\)\\. Migration ${SCHEMA + 2} \\(further\\) needs versions with schema ${SCHEMA + 1} or newer on all nodes\\.`,
      ),
    )
    await send(old.url, 'Still older')
    await eventually(arrived).toContain('Still older')
  },
)

test(
  'an older version does not start on a schema that it does not work with',
  { timeout: PATIENCE },
  async () => {
    let newest: RunningDaemon | undefined
    const again = old.restart(async () => {
      newest = await startNewer('9.2.1', '127.0.0.10', [EXPAND, CONTRACT])
    })
    await expect(again).rejects.toThrow(
      `The database was made by a newer version: migration ${SCHEMA + 2} (further) needs versions with schema ${SCHEMA + 1} or newer, and this one has schema ${SCHEMA}. Run the newer version.`,
    )
    // The version in between still runs, with prepared statements from before.
    await send(others[0]!.url, 'In between')
    await send(newest!.url, 'Newest')
    await eventually(arrived).toEqual(expect.arrayContaining(['In between', 'Newest']))
  },
)
