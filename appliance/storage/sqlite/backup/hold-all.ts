import { newId } from '../../../mail/ids.ts'
import type { Actor, NewAuditEntry } from '../../../mail/audit.ts'
import type { Held } from '../../storage.ts'
import { StorageRefused } from '../failures.ts'
import type { Connection } from '../connection.ts'
import { writeEntry } from './audit-entry.ts'
import { applyMigrations, shippedMigrations } from '../migrate.ts'

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
      .prepare('update deliveries set held = 1, lease_owner = null, lease_until = null, touched_by = ?')
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
