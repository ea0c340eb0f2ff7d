import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { listMethods } from '../../../../appliance/storage/nouns.ts'
import type { Storage } from '../../../../appliance/storage/storage.ts'
import { makeTeam, T0 } from '../../../contract/fixtures.ts'
import { storageContract } from '../../../contract/storage.contract.ts'
import { findPostgresPrograms, startCluster, type Cluster } from './cluster.ts'
import type { Recorded } from './recorded.ts'

/**
 * Methods in Kysely use the same SQL on both engines. This runs the contract on SQLite, and each of its statements on
 * PostgreSQL with the same values. Reads must return the same from the same rows. The hot methods are tested in
 * test/contract/postgres.test.ts.
 */

const programs = findPostgresPrograms()

/** The tables and functions, without triggers. */
const schema = ['0001_functions.sql', '0002_tables.sql']
  .map((file) =>
    readFileSync(
      join(import.meta.dirname, '../../../../appliance/storage/migrations/postgres', file),
      'utf8',
    ),
  )
  .join('')

/** Statements that each engine writes for itself: the database size, and a queue scan that is as hot as a lease. */
const OF_THE_ENGINE = [/pragma_page_count/, /with recursive closed/]

/** The clock of the database: each engine answers differently. */
const OF_THE_MOMENT = 'unixepoch'

/** Each distinct statement, with the values of its first run. */
const statements = new Map<string, Recorded>()
/** Reads that found something, with the rows that existed. */
const reads = new Map<string, { read: Recorded; tables: Map<string, unknown[]> }[]>()
const called = new Set<string>()

/** How many times a statement is compared, and the maximum number of rows. */
const [TIMES, ROWS] = [3, 500]

function record(recorded: Recorded): void {
  const shape = shapeOf(recorded.sql)
  if (OF_THE_ENGINE.some((own) => own.test(shape))) return
  if (!statements.has(shape)) statements.set(shape, recorded)
  if (shape.includes(OF_THE_MOMENT)) return
  const known = reads.get(shape) ?? []
  if (!/^(select|with)/.test(shape) || recorded.rows.length === 0 || known.length === TIMES) return
  const tables = recorded.tables()
  if ([...tables.values()].flat().length <= ROWS) reads.set(shape, [...known, { read: recorded, tables }])
}

/**
 * Loads separate modules, as on a separate thread. IDs that the storage creates with a late clock then don't affect the
 * tests' IDs.
 */
async function open(): Promise<Storage> {
  vi.resetModules()
  const { openRecorded } = await import('./recorded.ts')
  return openRecorded({ statement: record, method: (name) => called.add(name) })
}

/** Calls the methods that the contract doesn't call. */
async function callTheRest(storage: Storage): Promise<void> {
  const { team, user } = await makeTeam(storage)
  const [teamId, userId] = [team.id, user.id]
  await storage.listUsers({}, T0)
  await storage.trackingDomains({}, T0)
  await storage.hastenDomainCheck({ teamId, id: 'd' }, T0)
  await storage.listPasskeys({ userId }, T0)
  await storage.renamePasskey({ userId, id: 'p', name: 'Phone' }, T0)
  await storage.usageHistory({ teamId, days: 2, months: 2 }, T0)
  await storage.teamToEnter({ userId }, T0)
  await storage.getMember({ teamId, userId }, T0)
  await storage.touchSession({ tokenHash: 'none' }, T0)
  await storage.dropTickets({ userId, kinds: ['reset'] }, T0)
}

storageContract('SQLite, recorded', open)

describe('PostgreSQL compatibility', () => {
  let cluster: Cluster
  beforeAll(async () => {
    await callTheRest(await open())
    cluster = await startCluster(programs)
  })
  afterAll(() => cluster?.close())

  test('the recorded calls cover every storage method', () => {
    const all = (['reads', 'writes', 'innerReads', 'innerWrites'] as const).flatMap((kind) =>
      listMethods(kind),
    )
    // Called by file sweeps and erasures, for files, of which this storage has none.
    called.add('messagesInFiles').add('filesToSearch')
    expect(all.map(({ name }) => name).filter((name) => !called.has(name))).toEqual([])
  })

  test('the schema is created without error', async () => {
    const [{ error } = {}] = await cluster.run([schema])
    expect(error).toBeUndefined()
    // Each statement runs alone, so foreign keys are not checked.
    await cluster.run([`alter database postgres set session_replication_role = replica`])
  })

  test('every recorded statement runs with its values from SQLite', async () => {
    expect(statements.size).toBeGreaterThan(300)
    const shapes = [...statements.keys()]
    const results = await cluster.run([...statements.values()].map(runOnce))
    const failed = results.flatMap(({ error }, i) => (error === undefined ? [] : [`${error}: ${shapes[i]}`]))
    expect(failed).toEqual([])
  })

  test('queries return the same rows as on SQLite', async () => {
    const compared = [...reads.values()].flat()
    expect(compared.length).toBeGreaterThan(300)
    const results = await cluster.run(compared.map(({ read, tables }) => readAgain(read, tables)))
    const different = results.flatMap(({ output, error }, i) => {
      const { sql, rows } = compared[i]!.read
      const [should, found] = [rows.map(asJson), error ? [] : (JSON.parse(output) as Recorded['rows'])]
      const [a, b] = [should, found].map((some) => JSON.stringify(inOrder(sql, some)))
      return a === b ? [] : [{ sql, sqlite: a, postgres: error ?? b }]
    })
    expect(different).toEqual([])
  })
})

/** Returns what statements that differ only in the length of their lists have in common. */
function shapeOf(sql: string): string {
  return sql
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\$\d+/g, '?')
    .replaceAll(/\?(, \?)+/g, '?, …')
    .replaceAll(/(\([^()]*\))(, \1)+/g, '$1, …')
    .trim()
}

/** Returns a script that runs a statement as a client does: prepared, with untyped values. Changes are rolled back. */
function runOnce({ sql, parameters }: Pick<Recorded, 'sql' | 'parameters'>): string {
  const values = parameters.length > 0 ? `(${parameters.map(quote).join(', ')})` : ''
  return `begin;\nprepare one as ${sql};\nexecute one ${values};\nrollback;\ndeallocate all;`
}

/** Returns a script that runs it with the rows that existed, and prints the result as JSON. */
function readAgain({ sql, parameters }: Recorded, tables: Map<string, unknown[]>): string {
  const filled = [...tables].map(([name, rows]) => {
    const json = quote(JSON.stringify(rows.map((row) => asJson(row as Record<string, unknown>))))
    return `insert into ${name} select * from json_populate_recordset(null::${name}, ${json});`
  })
  const asked = `select coalesce(jsonb_agg(to_jsonb(found)), '[]') from (${sql}) as found`
  return `begin;\n${filled.join('\n')}\n${runOnce({ sql: asked, parameters }).replace('begin;\n', '')}`
}

function quote(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (value instanceof Uint8Array) return `'${hex(value)}'`
  if (typeof value !== 'string' && typeof value !== 'number') throw new TypeError('No value that is stored.')
  return `'${String(value).replaceAll("'", "''")}'`
}

const hex = (bytes: Uint8Array): string => `\\x${Buffer.from(bytes).toString('hex')}`

/** Formats a row like PostgreSQL's JSON. */
const asJson = (row: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(row).map(([column, value]) => [column, value instanceof Uint8Array ? hex(value) : value]),
  )

/** Sorts rows the same way for both engines, with flags as numbers. */
function inOrder(sql: string, rows: Recorded['rows']): unknown[] {
  const flat = rows.map((row) =>
    Object.fromEntries(
      Object.entries(row)
        .map(([column, value]) => [column, typeof value === 'boolean' ? Number(value) : value] as const)
        .toSorted(([a], [b]) => (a < b ? -1 : 1)),
    ),
  )
  if (outside(sql).includes('order by')) return flat
  return flat.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
}

/** Returns a statement without its parenthesized parts. */
function outside(sql: string): string {
  const shorter = sql.replaceAll(/\([^()]*\)/g, '')
  return shorter === sql ? sql : outside(shorter)
}
