/** What is asked of a database before it is used: damage is told at the start, not by the first email that meets it. */
import Database from 'better-sqlite3'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Connection } from './connection.ts'
import { DATABASE, MESSAGES, SNAPSHOTS } from './directory.ts'
import { pack, StorageRefused } from './failures.ts'

/** Databases up to this size are checked whole, which takes some 100 ms; larger ones at the ends of each table. */
const WHOLE_BYTES = 32 * 1024 * 1024

/** How long to wait for another process that writes (milliseconds). */
const BUSY_MS = 10_000

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
