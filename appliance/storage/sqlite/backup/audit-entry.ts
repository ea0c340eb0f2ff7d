import { join } from 'node:path'
import type { NewAuditEntry } from '../../../mail/audit.ts'
import { openWriter, type Connection } from '../connection.ts'
import { DATABASE } from '../directory.ts'

/** An entry of any schema that has an audit log: those about backups have no names beside their ids. */
type Nameless = Omit<NewAuditEntry, 'actorName' | 'targetName'>

/** Writes one entry into the audit log of a database that no thread of ours serves. */
export function writeEntry(db: Connection, entry: Nameless): void {
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
