/** Updates the schema of a PostgreSQL database. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { StorageRefused } from '../engine/failures.ts'
import type { PostgresConnection } from './connection.ts'

interface Step {
  number: number
  name: string
  checksum: string
  sql: string
}

const folder = join(import.meta.dirname, '../migrations/postgres')

function shipped(): Step[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.sql'))
  return files.sort().map((file) => {
    const sql = readFileSync(join(folder, file), 'utf8')
    const checksum = createHash('sha256').update(sql).digest('hex')
    return { number: Number.parseInt(file, 10), name: file.slice(5, -4), checksum, sql }
  })
}

/** Returns the number of the newest schema that this program knows. */
export const newestPostgresSchema = (): number => shipped().at(-1)!.number

/** Only one process migrates at a time. The others wait, and then have nothing to do. */
const LOCK = 'select pg_advisory_xact_lock(7310880)'

/** `moving`: allows a database that a move is filling, and that other processes must not open. */
interface MigrateOptions {
  moving?: boolean
}

/**
 * Runs missing migrations in one transaction.
 * @throws StorageRefused, having changed nothing
 */
export function migrate(db: PostgresConnection, options: MigrateOptions = {}): void {
  db.prepare('begin').run()
  try {
    db.prepare(LOCK).run()
    for (const { number, name, checksum, sql } of missingSteps(db, options)) {
      db.script(sql)
      db.prepare('insert into migrations (number, name, checksum, applied_at) values (?, ?, ?, ?)').run(
        number,
        name,
        checksum,
        Date.now(),
      )
    }
    db.prepare('commit').run()
  } catch (error) {
    if (db.inTransaction) db.prepare('rollback').run()
    throw error
  }
}

/**
 * Returns the migrations that a database lacks.
 * @throws StorageRefused if it belongs to another program, a newer version or an unfinished move
 */
export function missingSteps(db: PostgresConnection, { moving = false }: MigrateOptions = {}): Step[] {
  const steps = shipped()
  const known = db.prepare<[], { known: boolean; moved: boolean; others: number }>(
    `select to_regclass('migrations') is not null as known, to_regclass('storage_move') is not null as moved,
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
  const applied = db
    .prepare<[], Omit<Step, 'sql'>>('select number, name, checksum from migrations order by number')
    .all()
  for (const one of applied) {
    const ours = steps.find(({ number }) => number === one.number)
    if (!ours)
      throw new StorageRefused(
        `The database was made by a newer version: it has migration ${one.number} (${one.name}). Run the newer version.`,
      )
    if (ours.checksum !== one.checksum)
      throw new StorageRefused(
        `Migration ${one.number} (${one.name}) of the database does not match the one in this program. Reinstall the program.`,
      )
  }
  return steps.filter(({ number }) => !applied.some((one) => one.number === number))
}
