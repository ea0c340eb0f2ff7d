/** Opens the database. Checks it first, so that damage is reported at startup and not by the first email affected. */
import Database from 'better-sqlite3'
import { toFailure, StorageRefused } from '../engine/failures.ts'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DATABASE_FILE, MESSAGES_FOLDER, SNAPSHOTS_FOLDER } from './directory.ts'

export type Connection = Database.Database

/** Identifies our databases in the file's header: `PHST`. */
export const APPLICATION_ID = 0x50_48_53_54

/** How long to wait for another writing process, such as the command line (milliseconds). */
const BUSY_MS = 10_000

/** Opens the database for writing. The file must exist, and be empty or Posthaste's. Throws `StorageRefused`. */
export function openWriter(file: string): Connection {
  return opening(file, () => {
    const db = new Database(file, { fileMustExist: true, timeout: BUSY_MS })
    try {
      refuseForeign(db, file)
      // Lets retention return pages to the file system. Only takes effect before the first table is created.
      db.pragma('auto_vacuum = incremental')
      useWal(db, file)
      // FULL: the commit is on disk before it is reported.
      db.pragma('synchronous = full')
      db.pragma('foreign_keys = on')
      db.pragma('trusted_schema = off')
      db.pragma('cell_size_check = on')
      db.pragma('temp_store = memory')
      db.pragma('cache_size = -65536')
      // 16 MiB between checkpoints. With 10 KB messages, the default of 4 MiB would cause one every 200 emails.
      db.pragma('wal_autocheckpoint = 4096')
      db.pragma('journal_size_limit = 67108864')
      return db
    } catch (error) {
      db.close()
      throw error
    }
  })
}

/** Opens a database that a writer has prepared, on a read-only connection. */
export function openReader(file: string): Connection {
  return opening(file, () => {
    const db = new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_MS })
    db.pragma('trusted_schema = off')
    db.pragma('cell_size_check = on')
    db.pragma('temp_store = memory')
    db.pragma('cache_size = -8192')
    return db
  })
}

/** Opens an empty database in memory, to look at the schema. */
export const openEmpty = (): Connection => new Database(':memory:')

function opening(file: string, open: () => Connection): Connection {
  try {
    return open()
  } catch (error) {
    if (error instanceof StorageRefused) throw error
    throw new StorageRefused(`Cannot use the database ${file}. ${toFailure(error).message}`)
  }
}

/**
 * Refuses another program's database before anything is written. Counts the tables first: if another process is
 * creating the database, the ID is set by then.
 */
function refuseForeign(db: Connection, file: string): void {
  const tables = db.prepare('select count(*) from sqlite_schema').pluck().get() as number
  const mark = db.pragma('application_id', { simple: true }) as number
  if (mark === APPLICATION_ID || (mark === 0 && tables === 0)) return
  throw new StorageRefused(
    `${file} belongs to another program. Nothing was changed. Set data_dir to a separate directory.`,
  )
}

/**
 * Switches to write-ahead logging. Retries, because SQLite doesn't wait for other processes when it changes the journal
 * mode, and two processes may open a new database at once.
 */
function useWal(db: Connection, file: string): void {
  const pause = new Int32Array(new SharedArrayBuffer(4))
  for (let tries = 1; ; tries++) {
    try {
      const mode = db.pragma('journal_mode = wal', { simple: true })
      if (mode === 'wal') return
      throw new StorageRefused(
        `${file} is on a file system that does not support write-ahead logs. Use a local file system for data_dir.`,
      )
    } catch (error) {
      if (toFailure(error).code !== 'SQLITE_BUSY' || tries === 100) throw error
      Atomics.wait(pause, 0, 0, 20)
    }
  }
}

/**
 * Databases up to this size are checked completely, which takes about 100 ms; larger ones only at the ends of each
 * table.
 */
const WHOLE_BYTES = 32 * 1024 * 1024

/** How to recover from a damaged database. The text is the same at startup and later. */
const REMEDY =
  'Nothing was changed. Keep the files as they are, check the disk and the kernel log, and restore the newest backup into another data_dir: posthaste restore.'

/**
 * Checks for damage: all pages of a small database; for a large one the schema, its size, and the first and last row of
 * every table. Uses a read-only connection, because a writable one would copy the log into the file when it is closed.
 * @throws StorageRefused if it is damaged; other problems are reported when the file is opened
 */
export function refuseDamagedDatabase(file: string): void {
  if ((sizeOf(file) ?? 0) === 0) return
  let db: Connection | undefined
  try {
    db = new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_MS })
    const finding = small(db) ? db.pragma('quick_check(1)', { simple: true }) : look(db)
    if (finding !== 'ok')
      throw new StorageRefused(
        `The database ${file} is damaged: ${String(finding).replaceAll('\n', ' ')}. ${REMEDY}`,
      )
  } catch (error) {
    if (error instanceof StorageRefused) throw error
    const { code, message } = toFailure(error)
    if (code?.startsWith('SQLITE_CORRUPT') === true)
      throw new StorageRefused(`The database ${file} is damaged. ${message} ${REMEDY}`)
  } finally {
    db?.close()
  }
}

function small(db: Connection): boolean {
  return statSync(db.name).size <= WHOLE_BYTES
}

function look(db: Connection): 'ok' {
  const tables = db
    .prepare<[], string>(
      "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' and sql not like '%without rowid%'",
    )
    .pluck()
    .all()
  for (const table of tables) {
    const name = `"${table.replaceAll('"', '""')}"`
    db.prepare(`select * from ${name} order by rowid limit 1`).all()
    db.prepare(`select * from ${name} order by rowid desc limit 1`).all()
  }
  return 'ok'
}

const sizeOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.size

/**
 * Refuses to create a database in a directory that was used before, if the old database is missing or empty. SQLite
 * would create a new one and delete the log, which contains the last emails.
 * @throws StorageRefused
 */
export function refuseMissingDatabase(dataDir: string): void {
  const file = join(dataDir, DATABASE_FILE)
  const size = sizeOf(file)
  if (size !== undefined && size > 0) return
  const log = `${DATABASE_FILE}-wal`
  const left =
    (sizeOf(join(dataDir, log)) ?? 0) > 0
      ? log
      : [MESSAGES_FOLDER, SNAPSHOTS_FOLDER].find((name) => sizeOf(join(dataDir, name)) !== undefined)
  if (left === undefined) return
  throw new StorageRefused(
    `The database ${file} is ${size === undefined ? 'missing' : 'empty'}, but ${join(dataDir, left)} shows that there was one. ${REMEDY} To start over, set data_dir to an empty directory.`,
  )
}
