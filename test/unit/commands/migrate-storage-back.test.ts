import Database from 'better-sqlite3'
import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStorage } from '../../../appliance/assembly/storage.ts'
import { loadConfig, type Config } from '../../../appliance/config/config.ts'
import { PostgresConnection } from '../../../appliance/storage/postgres/connection.ts'
import { openPostgres } from '../../../appliance/storage/postgres/postgres.ts'
import { CRASH_POINT_VARIABLE, SCRATCH_MARKER } from '../../../appliance/watch/crash-points.ts'
import { makeTeam, putEmail, T0 } from '../../contract/fixtures.ts'
import { readStock, stockOf, store } from '../secrets/stock.ts'
import { findPostgresPrograms, startCluster, type Cluster } from '../storage/postgres/cluster.ts'
import { fillTables } from './filled-tables.ts'
import { installation, posthasteProcess, type Run } from './program.ts'

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster(findPostgresPrograms(), { safe: true })
})
afterAll(() => cluster?.close())

const LARGE = 300 * 1024

function configOf(file: string, env: NodeJS.ProcessEnv = {}): Config {
  const loaded = loadConfig({ file, env })
  if ('complaints' in loaded) throw new Error(JSON.stringify(loaded.complaints))
  return loaded.config
}

/** A data directory whose mail was moved to PostgreSQL, and the files of SQLite put away. */
async function movedAway() {
  const { config, dataDir } = installation()
  const storage = await openStorage(configOf(config))
  const stock = await store(storage)
  const { team } = await makeTeam(storage)
  const large = await putEmail(storage, team.id, ['large@x.example'], T0, { message: randomBytes(LARGE) })
  await storage.close()
  fillTables(join(dataDir, 'posthaste.db'))
  writeFileSync(join(dataDir, SCRATCH_MARKER), '')
  const url = await cluster.createDatabase()
  const run = (args: string[], env: NodeJS.ProcessEnv = {}): Promise<Run> =>
    posthasteProcess(['migrate-storage', ...args, '--config', config], { env })
  const there = await run(['--to', url])
  expect(there.code, there.stderr).toBe(0)
  const onPostgres = { POSTHASTE_STORAGE__ENGINE: 'postgres', POSTHASTE_STORAGE__URL: url }
  const back = (args: string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Run> =>
    run(['--to', 'sqlite', ...args], { ...onPostgres, ...env })
  const early = await back()
  expect(early.stderr).toMatch(/still has the database from before its move to PostgreSQL/)
  const away = join(dataDir, 'away')
  mkdirSync(away)
  for (const name of readdirSync(dataDir).filter((one) => /^(posthaste\.db|messages|moved)/.test(one)))
    renameSync(join(dataDir, name), join(away, name))
  return { config, dataDir, url, stock, large, back, original: join(away, 'posthaste.db') }
}

/** Reads all tables as text, in the same order. */
function tablesIn(file: string): Map<string, string[]> {
  const db = new Database(file, { readonly: true })
  const names = db
    .prepare<[], string>("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")
    .pluck()
    .all()
  const read = (name: string): string[] =>
    db
      .prepare<[], object>(`select * from "${name}"`)
      .all()
      .map((row) => JSON.stringify(row))
      .toSorted()
  const tables = new Map(names.map((name) => [name, read(name)]))
  db.close()
  return tables
}

/** Reads the statements that create the schema. */
function schemaOf(file: string): string[] {
  const db = new Database(file, { readonly: true })
  const texts = db
    .prepare<[], string>("select sql from sqlite_schema where sql is not null and name not like 'sqlite_%'")
    .pluck()
    .all()
  db.close()
  return texts.toSorted()
}

test('migrate-storage --to sqlite moves everything back, even if killed at any step', async () => {
  const { config, dataDir, url, stock, large, back, original } = await movedAway()
  const postgres = new PostgresConnection({ url })
  postgres.query("insert into nodes (id, name, created_at) values ('zz', 'other', 0)", [])
  expect((await back()).stderr).toMatch(/SQLite has one node, but the database of storage\.url has 2/)
  postgres.query("delete from nodes where id = 'zz'", [])
  postgres.close()
  const seen = await back(['--dry-run', '--json'])
  expect(seen).toMatchObject({ code: 0, stderr: '' })
  expect(existsSync(join(dataDir, 'posthaste.db'))).toBe(false)

  const filled = (JSON.parse(seen.stdout) as { tables: { rows: number }[] }).tables.filter(
    ({ rows }) => rows > 0,
  )
  expect(filled.length).toBeGreaterThan(60)
  // After the schema, in the middle, and before the last commit.
  for (const count of [1, 40, filled.length - 37]) {
    const killed = await back([], { [CRASH_POINT_VARIABLE]: `storage-move:${count}` })
    expect(killed.stderr + killed.code).toMatch(/null$/)
  }
  await expect(openStorage(configOf(config))).rejects.toThrow(/^Mail is being moved from PostgreSQL to /)
  await expect(openPostgres({ url })).rejects.toThrow(/was moved to SQLite, or is being moved/)

  const done = await back(['--json'])
  expect(done.code, done.stderr).toBe(0)
  const report = JSON.parse(done.stdout) as {
    id: string
    held: number
    tables: { rows: number; sha256: string }[]
  }
  expect(report).toMatchObject({
    resumed: true,
    dry_run: false,
    database: dataDir,
    settings: { engine: 'sqlite' },
  })
  expect(report.tables.filter(({ sha256 }) => !/^[0-9a-f]{64}$/.test(sha256))).toEqual([])
  expect(existsSync(join(dataDir, 'arriving.json'))).toBe(false)

  const [before, after] = [tablesIn(original), tablesIn(join(dataDir, 'posthaste.db'))]
  const changed = [...before]
    .filter(([name, rows]) => JSON.stringify(rows) !== JSON.stringify(after.get(name)))
    .map(([name]) => name)
  // Both moves put mail on hold and write to the audit log. Messages in files are rows now.
  const reasons = ['audit_log', 'broadcasts', 'deliveries', 'messages', 'migrations']
  const received = ['received_emails', 'received_sources']
  expect(changed.filter((name) => ![...reasons, ...received].includes(name))).toEqual([])
  expect([...after.keys()].toSorted()).toEqual([...before.keys()].toSorted())
  expect(schemaOf(join(dataDir, 'posthaste.db'))).toEqual(schemaOf(original))

  const moved = await openStorage(configOf(config))
  expect(await readStock(moved, stock)).toEqual(stockOf(stock))
  const message = await moved.getMessage({ emailId: large.id }, T0)
  expect(Buffer.from(message!).equals(Buffer.from(large.message))).toBe(true)
  expect((await moved.listQueue({ state: 'waiting', limit: 10 }, T0)).items).toEqual([])
  const later = await putEmail(moved, large.teamId, ['later@x.example'])
  expect(await moved.getMessage({ emailId: later.id }, T0)).toBeDefined()
  await moved.close()
  expect((await back()).stderr).toMatch(/was already moved to/)
})

test('migrate-storage --to sqlite refuses wrong settings and a database in use', async () => {
  const { config, dataDir } = installation()
  const run = (args: string[], env: NodeJS.ProcessEnv = {}): Promise<Run> =>
    posthasteProcess(['migrate-storage', '--to', 'sqlite', '--config', config, ...args], { env })
  expect((await run([])).stderr).toMatch(/storage\.engine is already "sqlite"/)
  expect((await run(['--tls', 'off'])).stderr).toMatch(/--tls has no effect with --to sqlite/)
  const url = await cluster.createDatabase()
  const env = { POSTHASTE_STORAGE__ENGINE: 'postgres', POSTHASTE_STORAGE__URL: url }
  const storage = await openPostgres({ url, lock: { node: 'aa' } })
  await makeTeam(storage)
  expect((await run([], env)).stderr).toMatch(/A daemon uses the database of storage\.url\. Stop it first/)
  await storage.close()
  expect(existsSync(join(dataDir, 'posthaste.db'))).toBe(false)
})
