/** What a backup says of itself, and the copy of the database in it: as it is at one instant, made while others write. */
import Database from 'better-sqlite3'
import { join } from 'node:path'
import type { Actor, NewAuditEntry } from '../../mail/audit.ts'
import { newId } from '../../mail/ids.ts'
import { type Connection, openReader, openWriter } from '../sqlite/connection.ts'
import { DATABASE, MESSAGES } from '../sqlite/directory.ts'
import { StorageRefused } from '../sqlite/failures.ts'
import { applyMigrations, shippedMigrations } from '../sqlite/migrate.ts'

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

/** Newest migration without received email in files. */
const ROWS_ONLY = 63

/** Leaves out bodies and messages of emails that nothing of waits (what waits could not be sent without), and received mail. */
export function dropBodies(db: Connection): void {
  for (const table of ['returned_unread', 'returned_messages', 'postmaster_messages', 'received_sources'])
    db.exec(`delete from ${table}`)
  db.exec('update received_emails set has_content = 0')
  if (schemaOf(db) > ROWS_ONLY) db.exec('update received_emails set in_file = 0')
  db.exec(
    'delete from messages where email_id not in (select email_id from deliveries where expires_at is not null)',
  )
  db.exec('vacuum')
}

/** The emails, sent and received, whose messages are in files. */
export function emailsInFiles(db: Connection): string[] {
  const ids = (query: string) => db.prepare<[], string>(query).pluck().all()
  const sent = ids('select email_id from messages where body is null')
  if (schemaOf(db) <= ROWS_ONLY) return sent
  return [...sent, ...ids('select id from received_emails where in_file = 1')]
}

/** Whether an email has a message. */
export function hasMessage(db: Connection, id: string): boolean {
  const finds = (query: string) => db.prepare(query).get(id) !== undefined
  if (finds('select 1 from messages where email_id = ?')) return true
  return schemaOf(db) > ROWS_ONLY && finds('select 1 from received_emails where id = ? and in_file = 1')
}

/** Takes out an email's message, which retention removed while the backup was made. */
export function dropMessage(db: Connection, id: string): void {
  db.prepare('delete from messages where email_id = ?').run(id)
  if (schemaOf(db) > ROWS_ONLY) db.prepare('delete from received_emails where id = ?').run(id)
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
    db.prepare(
      `update broadcasts set paused_at = ?, pause_reason = 'restored', pause_figures = null
       where status in ('scheduled', 'queued') and paused_at is null`,
    ).run(now)
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

/** How many there are of what people ask for first. */
export interface BackupCounts {
  emails: number
  /** Deliveries that wait. */
  waiting: number
  events: number
  /** Messages whose bytes are there. */
  messages: number
}

/** What is in a backup. */
export interface BackupAbout {
  /** Of the program that made it. */
  version: string
  /** Unix milliseconds. */
  createdAt: number
  /** Number of its newest migration. */
  schema: number
  /** Whether bodies and messages of finished emails are in it. */
  bodies: boolean
  counts: BackupCounts
  /** The key that its secrets are sealed with, and whether it is in the backup. Null: they are not sealed; undefined in older backups. */
  masterKey?: { id: string; included: boolean } | null
}

/** A backup that was made. */
export interface BackupDone {
  about: BackupAbout
  /** Bytes of the file. */
  size: number
  /** Whether it was restored into a scratch directory and checked. */
  verified: boolean
}

/** What was stopped in a restored appliance: it may have been sent since the backup was made. */
export interface Held {
  /** Deliveries on hold. */
  held: number
  /** Reports to senders that were due and are not made any more. */
  reports: number
  /** The audit entry of the hold. */
  auditId: string
}

/** A backup that was restored. */
export interface Restored extends Held {
  about: BackupAbout
}

/** The first file of a backup: tells it from other archives before anything is unpacked. */
export const MARK_NAME = 'posthaste-backup.json'

/** The last one: without it a backup is incomplete. */
export const MANIFEST_NAME = 'manifest.json'

/** The master key, where the appliance made it itself and it is not to be kept apart. */
export const KEY_NAME = 'master.key'

/** Of the layout of the archive. */
export const FORMAT = 1

/** One file of the archive; `sha256` in hex. */
export interface BackedUpFile {
  name: string
  size: number
  sha256: string
}

/** The last file of an archive: what is in it, checked when it is restored. */
export interface Manifest extends BackupAbout {
  format: typeof FORMAT
  files: BackedUpFile[]
}

/** Where a file of the archive goes: a path becomes a file here, so nothing else may. */
const PLACES: readonly [pattern: RegExp, to: (name: string) => string][] = [
  [new RegExp(`^${DATABASE.replace('.', '\\.')}$`), (name) => name],
  [new RegExp(`^${MESSAGES}/([0-9a-f]{2})/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{10}\\1$`), (name) => name],
  [/^tls\/self-signed\.json$/, (name) => name],
  [/^master\.key$/, (name) => name],
  // Never in place: the machine that it is restored on may have its own.
  [/^config\/[A-Za-z0-9][A-Za-z0-9._-]{0,79}$/, (name) => `restored-${name}`],
]

/** The path below the data directory; undefined when a backup has no such file. */
export const placeOf = (name: string): string | undefined =>
  PLACES.find(([pattern]) => pattern.test(name))?.[1](name)

/** Throws `StorageRefused` for another program's file, or one of a newer version. */
export function checkMark(bytes: Buffer, file: string): void {
  let mark: unknown
  try {
    mark = JSON.parse(bytes.toString('utf8'))
  } catch {
    mark = undefined // The sentence below says it.
  }
  const format = typeof mark === 'object' && mark !== null && 'format' in mark ? mark.format : undefined
  if (typeof format !== 'number') throw new StorageRefused(`${file} is not a Posthaste backup.`)
  if (format > FORMAT)
    throw new StorageRefused(`${file} was made by a newer version. Restore it with that version.`)
}
