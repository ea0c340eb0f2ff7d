/** Opening the database, and what is asked of it before: damage is told at the start, not by the first email that meets it. */
import Database from 'better-sqlite3'
import { pack, StorageRefused } from './failures.ts'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DATABASE, MESSAGES, SNAPSHOTS } from './directory.ts'

export type Connection = Database.Database

/** Says in the file's header whose database it is: `PHST`. */
export const APPLICATION_ID = 0x50_48_53_54

/** How long to wait for another process that writes, such as the command line. */
const BUSY_MS = 10_000

/** Opens the database for writing; the file must exist, empty or ours. Throws `StorageRefused`. */
export function openWriter(file: string): Connection {
  return opening(file, () => {
    const db = new Database(file, { fileMustExist: true, timeout: BUSY_MS })
    try {
      refuseForeign(db, file)
      // Only in a database without tables it has an effect: pages that retention empties can go back to the disk.
      db.pragma('auto_vacuum = incremental')
      useWal(db, file)
      // FULL: the commit is on the disk before anyone hears of it.
      db.pragma('synchronous = full')
      db.pragma('foreign_keys = on')
      db.pragma('trusted_schema = off')
      db.pragma('cell_size_check = on')
      db.pragma('temp_store = memory')
      db.pragma('cache_size = -65536')
      // 16 MiB between checkpoints: with 10 KB messages the default of 4 MiB would come every 200 emails.
      db.pragma('wal_autocheckpoint = 4096')
      db.pragma('journal_size_limit = 67108864')
      return db
    } catch (error) {
      db.close()
      throw error
    }
  })
}

/** Opens a database that a writer has prepared, on a connection that cannot write. */
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

function opening(file: string, open: () => Connection): Connection {
  try {
    return open()
  } catch (error) {
    if (error instanceof StorageRefused) throw error
    throw new StorageRefused(`Cannot use the database ${file}. ${pack(error).message}`)
  }
}

/** Looks before anything is written. Tables first: a database that another process makes meanwhile has its mark by then. */
function refuseForeign(db: Connection, file: string): void {
  const tables = db.prepare('select count(*) from sqlite_schema').pluck().get() as number
  const mark = db.pragma('application_id', { simple: true }) as number
  if (mark === APPLICATION_ID || (mark === 0 && tables === 0)) return
  throw new StorageRefused(
    `${file} belongs to another program. Nothing was changed. Set data_dir to a separate directory.`,
  )
}

/** SQLite does not wait for others when it changes the journal, and two processes may open a new database at once. */
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
      if (pack(error).code !== 'SQLITE_BUSY' || tries === 100) throw error
      Atomics.wait(pause, 0, 0, 20)
    }
  }
}

/** Databases up to this size are checked whole, which takes some 100 ms; larger ones at the ends of each table. */
const WHOLE_BYTES = 32 * 1024 * 1024

/** What to do about a damaged database; the same words at the start and later. */
const REMEDY =
  'Nothing was changed. Keep the files as they are, check the disk and the kernel log, and restore the newest backup into another data_dir: posthaste restore.'

/**
 * Looks for damage: all pages of a small database; of a large one the schema, its size, and the first and last row of every table.
 * On a connection that cannot write: one that can would copy the log into the file when it closes.
 * @throws StorageRefused; what else is wrong with the file is left to who opens it
 */
export function refuseDamaged(file: string): void {
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
    const { code, message } = pack(error)
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
 * Refuses to begin anew where a database was: one that is missing or empty, in a directory that was used. SQLite would make a new one,
 * and remove the log in which the last emails are.
 * @throws StorageRefused
 */
export function refuseVanished(dataDir: string): void {
  const file = join(dataDir, DATABASE)
  const size = sizeOf(file)
  if (size !== undefined && size > 0) return
  const log = `${DATABASE}-wal`
  const left =
    (sizeOf(join(dataDir, log)) ?? 0) > 0
      ? log
      : [MESSAGES, SNAPSHOTS].find((name) => sizeOf(join(dataDir, name)) !== undefined)
  if (left === undefined) return
  throw new StorageRefused(
    `The database ${file} is ${size === undefined ? 'missing' : 'empty'}, but ${join(dataDir, left)} shows that there was one. ${REMEDY} To start over, set data_dir to an empty directory.`,
  )
}
