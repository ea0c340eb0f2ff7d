/** Metadata of a backup, and its copy of the database: a snapshot taken while others write. */
import Database from 'better-sqlite3'
import { join } from 'node:path'
import type { Actor, NewAuditEntry } from '../../mail/audit.ts'
import { RESTORED_REASON } from '../../mail/automation.ts'
import { newId } from '../../mail/ids.ts'
import { type Connection, openReader, openWriter } from '../sqlite/connection.ts'
import { DATABASE_FILE, MESSAGES_FOLDER } from '../sqlite/directory.ts'
import { StorageRefused } from '../engine/failures.ts'
import { refuseMovedDatabase } from '../move/marker.ts'
import { applyMigrations, shippedMigrations } from '../sqlite/migrate.ts'

/**
 * Writes a snapshot of the database to `target`, which must not exist. With a write-ahead log, readers don't block
 * writers; the log only grows until the copy is complete. Deleted rows aren't copied.
 */
export function copyDatabase(source: string, target: string): void {
  const db = openReader(source)
  try {
    // Lets the copy return free pages to the file system, even if the original can't. Set only if necessary, because
    // setting it is a write.
    if (db.pragma('auto_vacuum', { simple: true }) === 0) db.pragma('auto_vacuum = incremental')
    db.prepare('vacuum into ?').run(target)
  } finally {
    db.close()
  }
}

/** Opens a copy for changes. They don't have to be durable, because the finished copy is synced. */
export function openCopy(file: string): Connection {
  const db = new Database(file, { fileMustExist: true })
  db.pragma('synchronous = off')
  db.pragma('trusted_schema = off')
  db.pragma('temp_store = memory')
  return db
}

/** Number of the last migration before received email was stored in files. */
const ROWS_ONLY = 63

/**
 * Deletes received mail, and the bodies and messages of emails without queued deliveries. Emails with queued deliveries
 * couldn't be sent without them.
 */
export function deleteBodies(db: Connection): void {
  for (const table of ['returned_unread', 'returned_messages', 'postmaster_messages', 'received_sources'])
    db.exec(`delete from ${table}`)
  db.exec('update received_emails set has_content = 0')
  if (getSchemaVersion(db) > ROWS_ONLY) db.exec('update received_emails set in_file = 0')
  db.exec(
    'delete from messages where email_id not in (select email_id from deliveries where expires_at is not null)',
  )
  db.exec('vacuum')
}

/** Lists the emails, sent and received, whose messages are in files. */
export function listEmailsInFiles(db: Connection): string[] {
  const ids = (query: string) => db.prepare<[], string>(query).pluck().all()
  const sent = ids('select email_id from messages where body is null')
  if (getSchemaVersion(db) <= ROWS_ONLY) return sent
  return [...sent, ...ids('select id from received_emails where in_file = 1')]
}

/** Whether an email has a message. */
export function hasMessage(db: Connection, id: string): boolean {
  const finds = (query: string) => db.prepare(query).get(id) !== undefined
  if (finds('select 1 from messages where email_id = ?')) return true
  return (
    getSchemaVersion(db) > ROWS_ONLY && finds('select 1 from received_emails where id = ? and in_file = 1')
  )
}

/** Deletes an email's message from the copy, because retention deleted its file during the backup. */
export function deleteMessage(db: Connection, id: string): void {
  db.prepare('delete from messages where email_id = ?').run(id)
  if (getSchemaVersion(db) > ROWS_ONLY) db.prepare('delete from received_emails where id = ?').run(id)
}

/** Returns the number of the database's newest migration. */
export function getSchemaVersion(db: Connection): number {
  return db.prepare<[], number>('select max(number) from migrations').pluck().get() ?? 0
}

/** Counts what a backup contains. */
export function countBackupContents(db: Connection): BackupCounts {
  const count = (table: string): number =>
    db.prepare<[], number>(`select count(*) from ${table}`).pluck().get() ?? 0
  return {
    emails: count('emails'),
    // Works with any schema: in the first one, the table contained only queued deliveries.
    waiting: count('deliveries where expires_at is not null'),
    events: count('events'),
    messages: count('messages'),
  }
}

/** Lists the problems of a database; empty if it is intact. */
export function findDatabaseProblems(db: Connection): string[] {
  const integrity = db.prepare<[], string>('pragma integrity_check(10)').pluck().all()
  const keys = db.prepare<[], unknown>('pragma foreign_key_check').all()
  return [
    ...integrity.filter((line) => line !== 'ok'),
    ...(keys.length > 0 ? [`${keys.length} rows refer to rows that are not there`] : []),
  ]
}

/**
 * Updates the schema of a restored database and stops all mail that may have been sent since the backup: holds the
 * queue, pauses broadcasts, disables automations, and drops pending custom events and due reports. Ends its sessions
 * and links, because they may have been revoked since the backup, for example after a theft. Records the hold and the
 * restore in its audit log.
 * @param asked who restores, from which file, and when the backup was made (Unix milliseconds)
 */
export function holdRestoredQueue(
  db: Connection,
  { by, file, createdAt }: { by: Actor; file: string; createdAt: number },
  now: number,
): HeldMail {
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
    db.prepare(
      `update automations set status = 'disabled', stopped_at = ?, stop_reason = ?
       where deleted_at is null and (status = 'enabled' or exists
         (select 1 from automation_runs r where r.automation_id = automations.id and r.status = 'running'))`,
    ).run(now, RESTORED_REASON)
    db.prepare('update sent_events set pending = 0 where pending = 1').run()
    const reports = db.prepare('update reports set done_at = ? where done_at is null').run(now).changes
    for (const table of ['sessions', 'tickets']) db.prepare(`delete from ${table}`).run()
    const backupMadeAt = new Date(createdAt).toISOString()
    const log = (
      entry: Pick<NewAuditEntry, 'id' | 'actor' | 'actorKind' | 'action' | 'target' | 'after' | 'details'>,
    ) => writeEntry(db, { teamId: null, at: now, ip: null, before: null, ...entry })
    log({
      id: auditId,
      actor: 'restore',
      actorKind: 'system',
      action: 'queue.hold',
      target: 'queue',
      after: { count: held },
      details: {
        filter: {},
        reason: 'restored from a backup: what waited may have been sent since',
        backup_made_at: backupMadeAt,
      },
    })
    log({
      id: newId(now),
      actor: by.name,
      actorKind: by.kind,
      action: 'backup.restore',
      target: 'backup',
      after: { held, reports_given_up: reports },
      details: { command: 'restore', arguments: [file], backup_made_at: backupMadeAt },
    })
    return { held, reports, auditId }
  })()
}

/** An audit log entry that fits any schema with an audit log. Entries about backups have no names, only IDs. */
type Nameless = Omit<NewAuditEntry, 'actorName' | 'targetName'>

/** Writes an entry to the audit log of a database for which this process has no storage thread. */
function writeEntry(db: Connection, entry: Nameless): void {
  const { id, teamId, at, actor, actorKind, ip, action, target, before, after, details } = entry
  db.prepare(
    `insert into audit_log (id, team_id, at, actor, actor_kind, ip, action, target, before, after, details)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(
    id,
    teamId,
    at,
    actor,
    actorKind,
    ip,
    action,
    target,
    ...[before, after, details].map((data) => (data === null ? null : JSON.stringify(data))),
  )
}

/**
 * Writes one entry, with or without a running daemon. Doesn't update the schema, because backups are also made before
 * an upgrade.
 * @throws if the database can't be written or is older than the audit log
 */
export function appendEntry({ dataDir, entry }: { dataDir: string; entry: Nameless }): void {
  refuseMovedDatabase(dataDir)
  const db = openWriter(join(dataDir, DATABASE_FILE))
  try {
    writeEntry(db, entry)
  } finally {
    db.close()
  }
}

/** Counts that summarize a backup. */
export interface BackupCounts {
  emails: number
  /** Number of queued deliveries. */
  waiting: number
  events: number
  /** Number of messages whose bytes are included. */
  messages: number
}

/** Metadata of a backup. */
export interface BackupMetadata {
  /** Version of the program that created the backup. */
  version: string
  /** When the backup was created (Unix milliseconds). */
  createdAt: number
  /** Number of the newest migration in the backup. */
  schema: number
  /** Whether bodies and messages of final emails are included. */
  bodies: boolean
  counts: BackupCounts
  /**
   * The key that encrypts the secrets in the backup, and whether it is included. Null if they aren't encrypted;
   * undefined in older backups.
   */
  masterKey?: { id: string; included: boolean } | null
}

/** A finished backup. */
export interface BackupResult {
  about: BackupMetadata
  /** Size of the file in bytes. */
  size: number
  /** Whether the backup was restored into a scratch directory and checked. */
  verified: boolean
}

/** Mail that was stopped on a restored server, because it may have been sent since the backup. */
export interface HeldMail {
  /** Number of deliveries on hold. */
  held: number
  /** Number of due reports to senders that were dropped. */
  reports: number
  /** ID of the audit entry for the hold. */
  auditId: string
}

/** A restored backup. */
export interface RestoreResult extends HeldMail {
  about: BackupMetadata
}

/** Name of the first file of a backup, which identifies it before anything is unpacked. */
export const MARKER_NAME = 'posthaste-backup.json'

/** Name of the last file. Without it, a backup is incomplete. */
export const MANIFEST_NAME = 'manifest.json'

/**
 * Name of the file with the master key, which is included if the server generated the key and it isn't kept separately.
 */
export const KEY_NAME = 'master.key'

/** Version of the layout of the archive. */
export const FORMAT_VERSION = 1

/** A file of the archive. `sha256` is in hex. */
export interface ArchiveFile {
  name: string
  size: number
  sha256: string
}

/** The last file of an archive: a list of its contents, which is checked during a restore. */
export interface Manifest extends BackupMetadata {
  format: typeof FORMAT_VERSION
  files: ArchiveFile[]
}

/** Allowed file names and their targets. All others are rejected, because names become paths. */
const PLACES: readonly [pattern: RegExp, to: (name: string) => string][] = [
  [new RegExp(`^${DATABASE_FILE.replace('.', '\\.')}$`), (name) => name],
  [
    new RegExp(`^${MESSAGES_FOLDER}/([0-9a-f]{2})/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{10}\\1$`),
    (name) => name,
  ],
  [/^tls\/self-signed\.json$/, (name) => name],
  [/^master\.key$/, (name) => name],
  // Not restored to its original place, because the target machine may have its own configuration.
  [/^config\/[A-Za-z0-9][A-Za-z0-9._-]{0,79}$/, (name) => `restored-${name}`],
]

/** Returns the path of a file in the data directory; undefined if the name isn't allowed in a backup. */
export const resolveBackupPath = (name: string): string | undefined =>
  PLACES.find(([pattern]) => pattern.test(name))?.[1](name)

/** Checks the first file of an archive. Throws `StorageRefused` if it belongs to another program or a newer version. */
export function checkMarker(bytes: Buffer, file: string): void {
  let mark: unknown
  try {
    mark = JSON.parse(bytes.toString('utf8'))
  } catch {
    mark = undefined // The sentence below says it.
  }
  const format = typeof mark === 'object' && mark !== null && 'format' in mark ? mark.format : undefined
  if (typeof format !== 'number') throw new StorageRefused(`${file} is not a Posthaste backup.`)
  if (format > FORMAT_VERSION)
    throw new StorageRefused(`${file} was made by a newer version. Restore it with that version.`)
}
