/** Updates the schema of a PostgreSQL database. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { LOST_MS } from '../../mail/node.ts'
import type { Db } from '../schema.ts'
import { StorageRefused } from '../engine/failures.ts'
import type { PostgresConnection } from './connection.ts'

interface Step {
  number: number
  name: string
  checksum: string
  sql: string
  /** The oldest schema whose versions of the program also work with this one. */
  oldest: number
}

const SHIPPED = join(import.meta.dirname, '../migrations/postgres')

/**
 * First line of a migration that only expands the schema, such as `-- Works with schema 3.`: new tables, and new
 * columns with a default. Nodes with a version from that schema on may run meanwhile, and be started afterwards. Other
 * migrations need this version on all nodes. They remove what the version before doesn't use anymore.
 */
const WORKS_WITH = /^-- Works with schema (\d+)\.$/m

/** @param folder the migrations of another version of the program, for tests */
function shipped(folder = SHIPPED): Step[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.sql'))
  return files.sort().map((file) => {
    const sql = readFileSync(join(folder, file), 'utf8')
    const checksum = createHash('sha256').update(sql).digest('hex')
    const number = Number.parseInt(file, 10)
    const oldest = Number(WORKS_WITH.exec(sql)?.[1] ?? number)
    return { number, name: file.slice(5, -4), checksum, sql, oldest }
  })
}

/** Returns the number of the newest schema that this program knows. */
export const newestPostgresSchema = (folder?: string): number => shipped(folder).at(-1)!.number

/** Lock that lets only one process migrate at a time. The others wait, and then have nothing to do. */
const MIGRATING = 7_310_880
const LOCK = `select pg_advisory_xact_lock(${MIGRATING})`

interface MigrateOptions {
  /** Allows a database that a move is filling, and that other processes must not open. */
  moving?: boolean
  /** Allows a database whose mail is moved to SQLite. */
  left?: boolean
  /** The migrations of another version of the program, for tests. */
  folder?: string | undefined
  /** ID of the node that migrates, of which no other process runs. */
  node?: string | undefined
}

/**
 * Runs missing migrations in one transaction.
 * @throws StorageRefused; nothing is changed then
 */
export function migrate(db: PostgresConnection, options: MigrateOptions = {}): void {
  db.prepare('begin').run()
  try {
    db.prepare(LOCK).run()
    const steps = findMissingMigrations(db, options)
    refuseForNodes(db, steps, options)
    for (const { number, name, checksum, sql, oldest } of steps) {
      db.script(sql)
      db.prepare(
        'insert into migrations (number, name, checksum, applied_at, oldest) values (?, ?, ?, ?, ?)',
      ).run(number, name, checksum, Date.now(), oldest)
    }
    db.prepare('commit').run()
  } catch (error) {
    if (db.inTransaction) db.prepare('rollback').run()
    throw error
  }
}

const RUNNING = `select name, facts::json ->> 'version' as version,
    (facts::json -> 'storage' ->> 'schema')::bigint as schema
  from nodes where id <> $1 and state <> 'stopped' and facts is not null
    and heartbeat_at > extract(epoch from clock_timestamp()) * 1000 - ${LOST_MS}
  order by name`

/** Refuses migrations that a running node of an older version doesn't work with. @throws StorageRefused */
function refuseForNodes(db: PostgresConnection, steps: readonly Step[], { node = '' }: MigrateOptions): void {
  // The first one creates the table of nodes.
  if (steps.length === 0 || steps[0]!.number === 1) return
  const running = db.query(RUNNING, [node]).rows as {
    name: string
    version: string
    schema: number | null
  }[]
  for (const { number, name, oldest } of steps) {
    const old = running.filter(({ schema }) => (schema ?? number - 1) < oldest)
    if (old.length === 0) continue
    const named = old.map((one) => `${one.name} (version ${one.version}, schema ${one.schema ?? 'unknown'})`)
    throw new StorageRefused(
      `The database can't be upgraded while older nodes are running: ${named.join(', ')}. Migration ${number} (${name}) needs versions with schema ${oldest} or newer on all nodes. Stop or upgrade these nodes first. Nothing was changed.`,
    )
  }
}

/** Waits until no process migrates. */
export async function awaitMigration(db: Db): Promise<void> {
  await sql`select pg_advisory_xact_lock_shared(${sql.lit(MIGRATING)})`.execute(db)
}

/**
 * Refuses a program that the schema doesn't work with anymore.
 * @param schema the newest one that the program knows
 * @throws StorageRefused
 */
export async function refuseOutdated(db: Db, schema: number): Promise<void> {
  const { rows } = await sql<{ number: number; name: string; oldest: number }>`
    select number, name, oldest from migrations order by oldest desc, number limit 1`.execute(db)
  const [last] = rows
  if (last && last.oldest > schema) throw new StorageRefused(outdated(last, schema))
}

/** Says that the database needs a newer version. */
const outdated = ({ number, name, oldest }: Omit<Step, 'sql' | 'checksum'>, schema: number): string =>
  `The database was made by a newer version: migration ${number} (${name}) needs versions with schema ${oldest} or newer, and this one has schema ${schema}. Run the newer version.`

/**
 * Returns the migrations that a database lacks.
 * @throws StorageRefused if it belongs to another program, an unfinished move, or a newer version that doesn't work
 * with this one
 */
export function findMissingMigrations(
  db: PostgresConnection,
  { moving = false, left = false, folder }: Omit<MigrateOptions, 'node'> = {},
): Step[] {
  const steps = shipped(folder)
  const known = db.prepare<[], { known: boolean; moved: boolean; away: boolean; others: number }>(
    `select to_regclass('migrations') is not null as known, to_regclass('storage_move') is not null as moved,
       to_regclass('moved_away') is not null as away,
       (select count(*) from pg_tables where schemaname = current_schema()) as others`,
  )
  const state = known.get()!
  if (!state.known) {
    if (state.others === 0) return steps
    throw new StorageRefused(
      'The database of storage.url belongs to another program. Nothing was changed. Create an empty database for Posthaste.',
    )
  }
  if (state.moved && !moving)
    throw new StorageRefused(
      'Mail is being moved into the database of storage.url. Run posthaste migrate-storage again to finish.',
    )
  if (state.away && !left)
    throw new StorageRefused(
      'The mail of storage.url was moved to SQLite, or is being moved. Set storage.engine = "sqlite", or run posthaste migrate-storage again to finish. To return to the state before the move, drop the table moved_away: mail sent since then may be sent again.',
    )
  const applied = db
    .prepare<[], Omit<Step, 'sql'>>('select number, name, checksum, oldest from migrations order by number')
    .all()
  const newest = steps.at(-1)!.number
  for (const one of applied) {
    const ours = steps.find(({ number }) => number === one.number)
    if (!ours) {
      if (one.oldest > newest) throw new StorageRefused(outdated(one, newest))
      continue
    }
    if (ours.checksum !== one.checksum)
      throw new StorageRefused(
        `Migration ${one.number} (${one.name}) of the database does not match the one in this program. Reinstall the program.`,
      )
  }
  return steps.filter(({ number }) => !applied.some((one) => one.number === number))
}
