import Database from 'better-sqlite3'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { moveStorage, openStorage } from '../../../appliance/assembly/storage.ts'
import { loadConfig, type Config } from '../../../appliance/config/config.ts'
import { PostgresConnection } from '../../../appliance/storage/postgres/connection.ts'
import { openPostgres } from '../../../appliance/storage/postgres/postgres.ts'
import { lockDataDir } from '../../../appliance/storage/sqlite/sqlite.ts'
import type { Storage } from '../../../appliance/storage/storage.ts'
import { CRASH_POINT_VARIABLE, SCRATCH_MARKER } from '../../../appliance/watch/crash-points.ts'
import { makeTeam, putEmail, T0 } from '../../contract/fixtures.ts'
import { makeReceiver, newReceived } from '../../contract/received-emails.contract.ts'
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
const DATABASE = 'posthaste.db'

function configOf(file: string, env: NodeJS.ProcessEnv = {}): Config {
  const loaded = loadConfig({ file, env })
  if ('complaints' in loaded) throw new Error(JSON.stringify(loaded.complaints))
  return loaded.config
}

const onPostgres = (file: string, url: string): Config =>
  configOf(file, { POSTHASTE_STORAGE__ENGINE: 'postgres', POSTHASTE_STORAGE__URL: url })

/** A data directory of SQLite, with `fill` done. */
async function stopped<T>(fill: (storage: Storage) => Promise<T>) {
  const { config, dataDir } = installation()
  const storage = await openStorage(configOf(config))
  const made = await fill(storage)
  await storage.close()
  writeFileSync(join(dataDir, SCRATCH_MARKER), '')
  const move = (url: string, args: string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Run> =>
    posthasteProcess(['migrate-storage', '--to', url, '--config', config, ...args], { env })
  return { config, dataDir, database: join(dataDir, DATABASE), made, move }
}

/** Stores what is needed to see that secrets and messages of both sizes come over. */
async function fillWell(storage: Storage) {
  const stock = await store(storage)
  const { team } = await makeTeam(storage)
  const small = await putEmail(storage, team.id, ['small@x.example'])
  const large = await putEmail(storage, team.id, ['large@x.example'], T0, { message: randomBytes(LARGE) })
  const receiver = await makeReceiver(storage)
  const received = { ...newReceived(receiver, { size: LARGE }), bytes: new Uint8Array(randomBytes(LARGE)) }
  const limits = { messages: 5, bytes: 10 * LARGE }
  await storage.keepReceivedEmails({ emails: [received, newReceived(receiver)], limits }, T0)
  return { stock, small, large, received, receiver }
}

type Rows = Record<string, unknown>[]

const byText = (rows: Rows): string[] =>
  rows
    .map((row) => JSON.stringify(Object.entries(row).toSorted(), (_, value: unknown) => plain(value)))
    .toSorted()

/** Bytes as hex, whichever class has them. */
function plain(value: unknown): unknown {
  const known = value as { type?: unknown; data?: unknown } | null
  if (known?.type === 'Buffer') return Buffer.from(known.data as number[]).toString('hex')
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
}

/** Reads a table of each engine with plain statements, as text in the same order. */
function readBoth(file: string, url: string): Map<string, [sqlite: string[], postgres: string[]]> {
  const sqlite = new Database(file, { readonly: true })
  const postgres = new PostgresConnection({ url })
  const names = sqlite
    .prepare<[], string>("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")
    .pluck()
    .all()
  const both = names.map((name): [string, [string[], string[]]] => {
    const here = sqlite.prepare<[], Rows[number]>(`select * from "${name}"`).all()
    const there = postgres.query(`select * from "${name}"`, []).rows
    for (const row of there) delete row.rowid
    return [name, [byText(here), byText(there)]]
  })
  sqlite.close()
  postgres.close()
  return new Map(both)
}

test('migrate-storage copies every table unchanged, even if killed at any step', async () => {
  const { config, dataDir, database, made, move } = await stopped(fillWell)
  const counts = fillTables(database)
  expect([...counts].filter(([, count]) => count === 0)).toEqual([])
  const filled = new Database(database)
  filled.exec("update broadcasts set status = 'queued' where paused_at is null")
  filled.close()
  const url = await cluster.createDatabase()

  const seen = await move(url, ['--dry-run', '--json'])
  expect(seen).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(seen.stdout)).toMatchObject({ object: 'storage_move', dry_run: true, resumed: false })
  expect(existsSync(join(dataDir, 'moved.json'))).toBe(false)

  // After the schema, in the middle, and before the last commit.
  for (const count of [1, 40, counts.size - 38]) {
    const killed = await move(url, [], { [CRASH_POINT_VARIABLE]: `storage-move:${count}` })
    expect(killed.stderr + killed.code).toMatch(/null$/)
  }
  await expect(openStorage(configOf(config))).rejects.toThrow(/is being moved to .*\/test_/)
  await expect(openPostgres({ url })).rejects.toThrow(/^Mail is being moved into the database/)
  const other = await cluster.createDatabase()
  expect((await move(other)).stderr).toMatch(
    /is unfinished\. Nothing was changed\. Continue with that database/,
  )

  const done = await move(url, ['--json'])
  expect(done.code, done.stderr).toBe(0)
  const report = JSON.parse(done.stdout) as {
    id: string
    held: number
    tables: { name: string; rows: number; sha256: string }[]
  }
  expect(report).toMatchObject({
    resumed: true,
    dry_run: false,
    database: expect.stringContaining('test_') as string,
  })
  expect(report).toMatchObject({ held: 2, broadcasts_paused: 1, texts_changed: 0 })
  expect(report).toMatchObject({ release_command: `posthaste queue undo ${report.id}` })
  // Messages in files become rows.
  const expected = new Map([...counts, ['received_sources', counts.get('received_sources')! + 1]])
  expected.delete('migrations')
  expect(new Map(report.tables.map(({ name, rows }) => [name, rows]))).toEqual(expected)
  expect(report.tables.filter(({ sha256 }) => !/^[0-9a-f]{64}$/.test(sha256))).toEqual([])

  const changed: string[] = []
  for (const [name, [here, there]] of readBoth(database, url))
    if (JSON.stringify(here) !== JSON.stringify(there)) changed.push(name)
  // Each of these has its reason: the hold, the audit entries of the move, and messages in files.
  expect(changed.toSorted()).toEqual([
    'audit_log',
    'broadcasts',
    'deliveries',
    'messages',
    'migrations',
    'received_emails',
    'received_sources',
  ])

  const moved = await openStorage(onPostgres(config, url))
  const { stock, small, large, received, receiver } = made
  expect(await readStock(moved, stock)).toEqual(stockOf(stock))
  for (const { id, message } of [small, large])
    expect(Buffer.from((await moved.getMessage({ emailId: id }, T0))!).equals(Buffer.from(message))).toBe(
      true,
    )
  const source = await moved.getReceivedSource({ teamId: receiver.teamId, id: received.id }, T0)
  expect(Buffer.from(source!).equals(Buffer.from(received.bytes))).toBe(true)
  expect((await moved.listQueue({ state: 'waiting', limit: 10 }, T0)).items).toEqual([])
  expect((await moved.listQueue({ limit: 10, touchedBy: report.id }, T0)).items).toHaveLength(report.held)
  const later = await putEmail(moved, small.teamId, ['later@x.example'])
  expect(await moved.getMessage({ emailId: later.id }, T0)).toBeDefined()
  await moved.close()

  await expect(openStorage(configOf(config))).rejects.toThrow(
    /was moved to .* Set storage\.engine = "postgres"/,
  )
  expect((await move(url)).stderr).toMatch(/was already moved to/)
})

test('migrate-storage rejects an unsuitable source or target and changes nothing', async () => {
  const { config, dataDir, database, move } = await stopped((storage) => makeTeam(storage))
  const url = await cluster.createDatabase()
  const here = configOf(config)
  const options = {
    by: { kind: 'command', name: 'root', ip: null },
    dryRun: false,
    onProgress: () => undefined,
  } as const
  const refusal = (to: string): Promise<string> =>
    moveStorage(here, onPostgres(config, to), options, T0).then(
      () => 'moved',
      (error: Error) => `${error.name}: ${error.message}`,
    )
  const lock = await lockDataDir(dataDir)
  expect(await refusal(url)).toMatch(/^StorageRefused: Another daemon is running on /)
  lock.release()
  const daemon = await openPostgres({ url, lock: { node: 'aa' } })
  expect(await refusal(url)).toMatch(/^StorageRefused: A daemon uses the database of storage\.url/)
  await makeTeam(daemon)
  await daemon.close()
  expect(await refusal(url)).toMatch(/is not empty: its table \w+ has rows/)

  const empty = await cluster.createDatabase()
  const wrongKey = await move(empty, [], { POSTHASTE_MASTER_KEY: randomBytes(32).toString('base64') })
  expect(wrongKey).toMatchObject({ code: 1, stdout: '' })
  expect(wrongKey.stderr).toMatch(/contains another key/)
  const db = new PostgresConnection({ url: empty })
  db.script('create table theirs (id integer)')
  expect(await refusal(empty)).toMatch(/belongs to another program/)
  db.script('drop table theirs')
  db.script('alter database ' + /test_\d+/.exec(empty)![0] + ' set synchronous_commit = off')
  expect(await refusal(empty)).toMatch(/synchronous_commit = off, so accepted mail could be lost/)
  db.close()
  expect(await refusal(url.replace(/test_\d+/, 'nothing'))).toMatch(/no such database .* or check storage/)
  const unreachable = await move('postgres://posthaste@127.0.0.1:1/none')
  expect(unreachable).toMatchObject({ code: 1, stdout: '' })
  expect(unreachable.stderr).toMatch(/cannot be reached: check that it runs, and --to\./)
  expect((await move('mysql://x/y')).stderr).toMatch(/^The configuration has an error:\n {2}--to: /)

  const sqlite = new Database(database)
  const last = sqlite.prepare('select * from migrations order by number desc limit 1').get() as {
    number: number
  }
  sqlite.prepare('delete from migrations where number = ?').run(last.number)
  sqlite.close()
  const fresh = await cluster.createDatabase()
  expect(await refusal(fresh)).toMatch(/has an older schema than this program\. .* posthaste migrate/)
  const untouched = new PostgresConnection({ url: fresh })
  expect(
    untouched.query('select count(*) as n from pg_tables where schemaname = current_schema()', []).rows,
  ).toEqual([{ n: 0 }])
  untouched.close()
  expect(existsSync(join(dataDir, 'moved.json'))).toBe(false)
  expect(readFileSync(config, 'utf8')).not.toContain('postgres')
})
