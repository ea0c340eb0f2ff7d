import Database from 'better-sqlite3'
import { pack, StorageRefused } from './failures.ts'

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
