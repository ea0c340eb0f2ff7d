/**
 * Writes administrative actions to the audit log: before they happen, and with their result. Entries never contain
 * secrets.
 */
import type { Clock } from '../clock/clock.ts'
import { redactSecrets } from '../mail/audit-values.ts'
import { getTargetName } from '../mail/audit-target.ts'
import { toActorFields, type Actor, type AuditAction, type NewAuditEntry } from '../mail/audit.ts'
import { newId } from '../mail/ids.ts'
import type { Storage } from '../storage/storage.ts'

/** An action that is about to happen. */
export interface AuditedAction {
  /** The team concerned; null for the whole server. */
  teamId: string | null
  actor: Actor
  /** Noun and verb: `domain.create`. */
  action: AuditAction
  /** Noun and, if known, ID of the object: `domain 0193…`. */
  target: string
  /** State of the object before the action, as plain data. */
  before?: unknown
  /** The request. */
  details?: Record<string, unknown>
}

/** Records an action before it happens. Returns the entry's id, for `completeAuditEntry`. */
export async function startAuditEntry(
  storage: Pick<Storage, 'appendAudit'>,
  clock: Clock,
  act: AuditedAction,
): Promise<string> {
  const at = clock.now()
  const id = newId(at)
  await storage.appendAudit({ entry: entryOf(act, { id, at, after: null }) }, at)
  return id
}

/**
 * Records the result of an action.
 * @param end after: state after the action, as plain data; null and undefined are stored as `{}`, because null means
 * unknown. target: the ID of a created object, which wasn't known before
 */
export async function completeAuditEntry(
  storage: Pick<Storage, 'completeAudit'>,
  clock: Clock,
  { id, after, target }: { id: string; after: unknown; target?: string | undefined },
): Promise<void> {
  await storage.completeAudit({ id, after: redactSecrets(after) ?? {}, target }, clock.now())
}

/** Records a completed action in one entry. For actions without an audited route: commands and sign-ins. */
export async function recordAuditEntry(
  storage: Pick<Storage, 'appendAudit'>,
  clock: Clock,
  { after, ...act }: AuditedAction & { after?: unknown },
): Promise<void> {
  const at = clock.now()
  const done = redactSecrets(after) ?? {}
  await storage.appendAudit({ entry: entryOf(act, { id: newId(at), at, after: done }) }, at)
}

function entryOf(
  { teamId, actor, action, target, before = null, details = {} }: AuditedAction,
  { id, at, after }: { id: string; at: number; after: unknown },
): NewAuditEntry {
  const data = {
    before: redactSecrets(before),
    after,
    details: redactSecrets(details) as Record<string, unknown>,
  }
  const targetName = getTargetName({ target, ...data })
  return { id, teamId, at, ...toActorFields(actor), action, target, targetName, ...data }
}
