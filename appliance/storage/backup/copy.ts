/** A copy of the database as it is at one instant, made while others write. */
import Database from 'better-sqlite3'
import { join } from 'node:path'
import type { Actor, NewAuditEntry } from '../../mail/audit.ts'
import { newId } from '../../mail/ids.ts'
import { type Connection, openReader, openWriter } from '../sqlite/connection.ts'
import { DATABASE } from '../sqlite/directory.ts'
import { StorageRefused } from '../sqlite/failures.ts'
import { applyMigrations, shippedMigrations } from '../sqlite/migrate.ts'
import type { BackupCounts, Held } from './manifest.ts'

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
  db.exec(
    'delete from messages where email_id not in (select email_id from deliveries where expires_at is not null)',
  )
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
    // Of any schema: at first the table held what waits and nothing else.
    waiting: count('deliveries where expires_at is not null'),
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

/**
 * Brings a restored database up to date and stops what it would send: what waited when the backup was made may have been sent since.
 * Sessions and links of then end: they may have been ended since, because somebody had stolen them.
 * Both are in its audit log: the hold, and that somebody restored it.
 * @param asked who restores, from which file, and when that was made (Unix milliseconds)
 */
export function holdAll(
  db: Connection,
  { by, file, createdAt }: { by: Actor; file: string; createdAt: number },
  now: number,
): Held {
  try {
    db.pragma('foreign_keys = on')
    applyMigrations(db, shippedMigrations())
  } catch (error) {
    if (error instanceof StorageRefused) throw error
    throw new StorageRefused(`The database in the backup could not be upgraded: ${String(error)}`)
  }
  const auditId = newId(now)
  return db.transaction(() => {
    const held = db
      .prepare(
        `update deliveries set state = 'held', lease_owner = null, lease_until = null, touched_by = ? where expires_at is not null`,
      )
      .run(auditId).changes
    const reports = db.prepare('update reports set done_at = ? where done_at is null').run(now).changes
    for (const table of ['sessions', 'tickets']) db.prepare(`delete from ${table}`).run()
    const backupMadeAt = new Date(createdAt).toISOString()
    const log = (
      entry: Pick<NewAuditEntry, 'id' | 'actor' | 'actorKind' | 'action' | 'target' | 'after' | 'details'>,
    ) => writeEntry(db, { teamId: null, at: now, ip: null, before: null, ...entry })
    log({
      ...{ id: auditId, actor: 'restore', actorKind: 'system', action: 'queue.hold', target: 'queue' },
      after: { count: held },
      details: {
        filter: {},
        reason: 'restored from a backup: what waited may have been sent since',
        backup_made_at: backupMadeAt,
      },
    })
    log({
      ...{ id: newId(now), actor: by.name, actorKind: by.kind, action: 'backup.restore', target: 'backup' },
      after: { held, reports_given_up: reports },
      details: { command: 'restore', arguments: [file], backup_made_at: backupMadeAt },
    })
    return { held, reports, auditId }
  })()
}

/** An entry of any schema that has an audit log: those about backups have no names beside their ids. */
type Nameless = Omit<NewAuditEntry, 'actorName' | 'targetName'>

/** Writes one entry into the audit log of a database that no thread of ours serves. */
function writeEntry(db: Connection, entry: Nameless): void {
  const { id, teamId, at, actor, actorKind, ip, action, target, before, after, details } = entry
  db.prepare(
    `insert into audit_log (id, team_id, at, actor, actor_kind, ip, action, target, before, after, details)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(
    ...[id, teamId, at, actor, actorKind, ip, action, target],
    ...[before, after, details].map((data) => (data === null ? null : JSON.stringify(data))),
  )
}

/**
 * Writes one entry beside a daemon, or without one, and without bringing the database up to date: a backup is made before
 * an upgrade, too.
 * @throws when the database cannot be written or is of before the audit log
 */
export function appendEntry({ dataDir, entry }: { dataDir: string; entry: Nameless }): void {
  const db = openWriter(join(dataDir, DATABASE))
  try {
    writeEntry(db, entry)
  } finally {
    db.close()
  }
}
