import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { crashPoint } from '../../watch/crash-points.ts'
import { APPLICATION_ID, type Connection } from './connection.ts'
import { StorageRefused } from './failures.ts'

/** One step of the schema: `0001_start.sql` is number 1, named `start`. */
export interface Migration {
  number: number
  name: string
  /** SHA-256 of the text, in hex. */
  checksum: string
  sql: string
}

const folder = join(import.meta.dirname, '../migrations/sqlite')

/** The migrations that came with the program, in order. */
export function shippedMigrations(): Migration[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.sql'))
  return files.sort().map((file) => {
    const [, digits, name] = /^(\d{4})_([a-z0-9_]+)\.sql$/.exec(file) ?? []
    if (digits === undefined || name === undefined) {
      throw new StorageRefused(
        `${join(folder, file)} does not have the name of a migration. Reinstall the program.`,
      )
    }
    const sql = readFileSync(join(folder, file), 'utf8')
    const checksum = createHash('sha256').update(sql).digest('hex')
    return { number: Number(digits), name, checksum, sql }
  })
}

/** Number of the newest schema that this program knows. */
export const newestSchema = (): number => shippedMigrations().at(-1)?.number ?? 0

/**
 * Brings the schema up to date, in one transaction, when something is missing; another process may have done it
 * meanwhile. Throws `StorageRefused`, having changed nothing, when the database is not one that this program made.
 */
export function applyMigrations(db: Connection, migrations: readonly Migration[]): void {
  if (missing(db, migrations).length === 0) return
  db.transaction(() => {
    for (const { number, name, checksum, sql } of missing(db, migrations)) {
      db.exec(sql)
      // The moment is for people who look into the table, nothing depends on it: the machine's clock will do.
      db.prepare('insert into migrations (number, name, checksum, applied_at) values (?, ?, ?, ?)').run(
        number,
        name,
        checksum,
        Date.now(),
      )
      crashPoint('migration')
    }
    db.pragma(`application_id = ${APPLICATION_ID}`)
  }).immediate()
}

interface Applied {
  number: number
  name: string
  checksum: string
}

/** Those that a database has not had yet. Throws `StorageRefused` for a database that is newer, or had others. */
export function missing(db: Connection, migrations: readonly Migration[]): Migration[] {
  const known = db.prepare("select 1 from sqlite_schema where type = 'table' and name = 'migrations'").get()
  const applied = known
    ? (db.prepare('select number, name, checksum from migrations order by number').all() as Applied[])
    : []
  for (const { number, name, checksum } of applied) {
    const ours = migrations.find((migration) => migration.number === number)
    if (!ours) {
      throw new StorageRefused(
        `The database ${db.name} was made by a newer version: it has migration ${number} (${name}), but the last one in this version is ${migrations.at(-1)?.number ?? 0}. Run the newer version, or restore a backup made before it.`,
      )
    }
    if (ours.checksum !== checksum || ours.name !== name) {
      throw new StorageRefused(
        `Migration ${number} (${name}) of the database ${db.name} does not match the one in this program: its checksum differs. Reinstall the program. Its migrations must not be edited.`,
      )
    }
  }
  return migrations.filter(({ number }) => !applied.some((row) => row.number === number))
}
