/** A copy of the database as it is at one instant, made while others write. */
import Database from 'better-sqlite3'
import type { BackupCounts } from '../../storage.ts'
import { openReader, type Connection } from '../connection.ts'

/**
 * Writes the database as it is now to `target`, which must not exist. In a write-ahead log readers stop nobody, so a writer goes on
 * meanwhile; only the log grows until the copy is done. Deleted rows do not come along.
 */
export function copyDatabase(source: string, target: string): void {
  const db = openReader(source)
  try {
    // The copy can give pages back to the disk when retention empties them, whatever its original could. Said again to a database that
    // can, it would be a write.
    if (db.pragma('auto_vacuum', { simple: true }) === 0) db.pragma('auto_vacuum = incremental')
    db.prepare('vacuum into ?').run(target)
  } finally {
    db.close()
  }
}

/** Opens a copy for changes; they need not be durable, the copy is synced when it is whole. */
export function openCopy(file: string): Connection {
  const db = new Database(file, { fileMustExist: true })
  db.pragma('synchronous = off')
  db.pragma('trusted_schema = off')
  db.pragma('temp_store = memory')
  return db
}

/** Leaves out bodies and messages of emails that nothing of waits (what waits could not be sent without), and received mail. */
export function dropBodies(db: Connection): void {
  for (const table of ['returned_messages', 'postmaster_messages']) db.exec(`delete from ${table}`)
  for (const table of ['messages', 'contents'])
    db.exec(`delete from ${table} where email_id not in (select email_id from deliveries)`)
  db.exec('vacuum')
}

/** The emails whose messages are in files. */
export function emailsInFiles(db: Connection): string[] {
  return db.prepare<[], string>('select email_id from messages where body is null').pluck().all()
}

/** Number of the newest migration that the database has. */
export function schemaOf(db: Connection): number {
  return db.prepare<[], number>('select max(number) from migrations').pluck().get() ?? 0
}

/** What a backup tells of itself in numbers. */
export function countAll(db: Connection): BackupCounts {
  const count = (table: string): number =>
    db.prepare<[], number>(`select count(*) from ${table}`).pluck().get() ?? 0
  return {
    emails: count('emails'),
    waiting: count('deliveries'),
    events: count('events'),
    messages: count('messages'),
  }
}

/** What is wrong with a database; an empty list when it is whole. */
export function troublesOf(db: Connection): string[] {
  const integrity = db.prepare<[], string>('pragma integrity_check(10)').pluck().all()
  const keys = db.prepare<[], unknown>('pragma foreign_key_check').all()
  return [
    ...integrity.filter((line) => line !== 'ok'),
    ...(keys.length > 0 ? [`${keys.length} rows refer to rows that are not there`] : []),
  ]
}
