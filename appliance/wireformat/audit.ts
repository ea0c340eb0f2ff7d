import type * as schema from '../http/schemas/audit.ts'
import { auditSentence } from '../mail/audit-sentence.ts'
import { targetNameIn } from '../mail/audit-target.ts'
import { csvRecord } from '../mail/csv.ts'
import type { AuditEntry } from '../storage/storage.ts'
import { timestamp } from '../api/timestamp.ts'

/** GET /audit/:id, and an element of the list. */
export function presentAuditEntry(entry: AuditEntry): schema.AuditEntry {
  return {
    object: 'audit_entry',
    id: entry.id,
    team_id: entry.teamId,
    at: timestamp(entry.at),
    actor: entry.actor,
    actor_kind: entry.actorKind,
    actor_name: entry.actorName,
    ip: entry.ip,
    action: entry.action,
    target: entry.target,
    target_name: entry.targetName ?? targetNameIn(entry),
    sentence: auditSentence(entry),
    before: entry.before,
    after: entry.after,
    outcome: outcomeOf(entry),
    details: entry.details,
  }
}

function outcomeOf({ after }: AuditEntry): schema.AuditEntry['outcome'] {
  if (after === null) return 'unknown'
  return typeof after === 'object' && 'refused' in after ? 'refused' : 'done'
}

/** The columns of an exported list. */
export const AUDIT_COLUMNS = csvRecord([
  ...['at', 'actor', 'actor_kind', 'ip', 'action', 'target', 'outcome', 'before', 'after', 'details'],
  ...['team_id', 'id', 'sentence'],
])

/** One entry as a line of an exported list. Plain data stands as JSON. */
export function auditRecord(entry: AuditEntry): string {
  const json = (value: unknown): string => (value === null ? '' : JSON.stringify(value))
  return csvRecord([
    ...[new Date(entry.at).toISOString(), entry.actor, entry.actorKind, entry.ip ?? ''],
    ...[entry.action, entry.target, outcomeOf(entry)],
    ...[json(entry.before), json(entry.after), json(entry.details), entry.teamId ?? '', entry.id],
    auditSentence(entry),
  ])
}
