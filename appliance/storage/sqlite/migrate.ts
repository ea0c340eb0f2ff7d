/** Updates the schema. Copies the database first, so that a downgrade is possible. */
import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { crashPoint } from '../../watch/crash-points.ts'
import { APPLICATION_ID, type Connection } from './connection.ts'
import { SNAPSHOTS_FOLDER } from './directory.ts'
import { toFailure, StorageRefused } from '../engine/failures.ts'

/** One step of the schema. The file `0001_start.sql` has number 1 and name `start`. */
export interface Migration {
  number: number
  name: string
  /** SHA-256 of the text, in hex. */
  checksum: string
  sql: string
}

const folder = join(import.meta.dirname, '../migrations/sqlite')

/** Returns the migrations of this program, in order. */
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

/** Returns the number of the newest schema that this program knows. */
export const newestSchema = (): number => shippedMigrations().at(-1)?.number ?? 0

/**
 * Applies missing migrations in one transaction. Another process may have applied them meanwhile. Throws
 * `StorageRefused` and changes nothing if the database wasn't created by this program.
 */
export function applyMigrations(db: Connection, migrations: readonly Migration[]): void {
  if (findMissingMigrations(db, migrations).length === 0) return
  db.transaction(() => {
    for (const { number, name, checksum, sql } of findMissingMigrations(db, migrations)) {
      db.exec(sql)
      // Use the machine's clock, because this time is only for people.
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

/**
 * Returns the migrations that a database lacks. Throws `StorageRefused` if the database is newer or had different
 * migrations.
 */
export function findMissingMigrations(db: Connection, migrations: readonly Migration[]): Migration[] {
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
        `Migration ${number} (${name}) of the database ${db.name} does not match the one in this program: its checksum differs. Reinstall the program: its migrations must not be edited. A database from before version 0.1.0 can't be upgraded; use a new data_dir.`,
      )
    }
  }
  return migrations.filter(({ number }) => !applied.some((row) => row.number === number))
}

/** A copy of the database from before an upgrade. */
export interface Snapshot {
  /** Path of the copy. */
  file: string
  /** Number of the copy's newest migration. */
  schema: number
  /** Size in bytes. */
  size: number
  createdAt: number
}

/** Number of snapshots to keep: those of the last two upgrades. */
const KEPT = 2

/** Matches names such as `schema-0012-20261120T140000Z.db`, which sort by schema, then by time. */
const NAME = /^schema-(\d{4})-(\d{8}T\d{6}Z)\.db$/

/**
 * Copies the database into `snapshots/` before migrations change it, and removes older copies. A new database isn't
 * copied.
 * @throws StorageRefused if there isn't enough space; then nothing is changed
 */
export function createSnapshot(db: Connection, missing: readonly Migration[], now: number): void {
  const schema = appliedSchema(db)
  if (missing.length === 0 || schema === 0) return
  const dataDir = dirname(db.name)
  const folder = join(dataDir, SNAPSHOTS_FOLDER)
  const moment = new Date(now).toISOString().replace(/[-:]|\.\d+/g, '')
  const target = join(folder, `schema-${String(schema).padStart(4, '0')}-${moment}.db`)
  const partial = `${target}.partial-${process.pid}`
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    giveToOwner(dataDir, folder)
    removeOld(folder, KEPT - 1)
    rmSync(partial, { force: true })
    // Create the file here with mode 0600, so that it is never readable by others.
    closeSync(openSync(partial, 'wx', 0o600))
    db.prepare('vacuum into ?').run(partial)
    chmodSync(partial, 0o600)
    giveToOwner(dataDir, partial)
    sync(partial)
    renameSync(partial, target)
    sync(folder)
  } catch (error) {
    rmSync(partial, { force: true })
    throw new StorageRefused(
      `The database needs an upgrade, but it could not be copied first. Nothing was changed. ${toFailure(error).message} The copy, ${target}, needs as much disk space as the database.`,
    )
  }
}

/** Lists the snapshots of a data directory, newest last. */
export function listSnapshots(dataDir: string): Snapshot[] {
  const folder = join(dataDir, SNAPSHOTS_FOLDER)
  if (!existsSync(folder)) return []
  const names = readdirSync(folder).filter((name) => NAME.test(name))
  return names
    .map((name) => {
      const file = join(folder, name)
      const { size, mtimeMs } = statSync(file)
      return { file, schema: Number(NAME.exec(name)![1]), size, createdAt: Math.floor(mtimeMs) }
    })
    .sort((a, b) => a.createdAt - b.createdAt || a.schema - b.schema)
}

function appliedSchema(db: Connection): number {
  const known = db.prepare("select 1 from sqlite_schema where type = 'table' and name = 'migrations'").get()
  if (!known) return 0
  return db.prepare<[], number>('select max(number) from migrations').pluck().get() ?? 0
}

/** Keeps the newest `kept` snapshots and removes the others, including leftovers of a killed upgrade. */
function removeOld(folder: string, kept: number): void {
  const whole = listSnapshots(dirname(folder))
  for (const { file } of whole.slice(0, Math.max(0, whole.length - kept))) rmSync(file)
  const hour = 60 * 60 * 1000
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    // Keep a recent one, because another process may be writing it.
    if (name.includes('.partial-') && statSync(path).mtimeMs < Date.now() - hour) rmSync(path)
  }
}

function giveToOwner(dataDir: string, path: string): void {
  if (process.geteuid?.() !== 0) return
  const { uid, gid } = statSync(dataDir)
  chownSync(path, uid, gid)
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
