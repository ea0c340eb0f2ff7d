/**
 * Writes administrative actions to the audit log: before they happen, and with their result. Entries never contain
 * secrets.
 */
import type { Clock } from '../clock/clock.ts'
import { withoutSecrets } from '../mail/audit-values.ts'
import { targetNameIn } from '../mail/audit-target.ts'
import { actorFields, type Actor, type AuditAction, type NewAuditEntry } from '../mail/audit.ts'
import { newId } from '../mail/ids.ts'
import type { Storage } from '../storage/storage.ts'

/** An action about to happen. */
export interface Act {
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

/** Records an action before it happens. Returns the entry's id, for `endAct`. */
export async function beginAct(
  storage: Pick<Storage, 'appendAudit'>,
  clock: Clock,
  act: Act,
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
export async function endAct(
  storage: Pick<Storage, 'completeAudit'>,
  clock: Clock,
  { id, after, target }: { id: string; after: unknown; target?: string | undefined },
): Promise<void> {
  await storage.completeAudit({ id, after: withoutSecrets(after) ?? {}, target }, clock.now())
}

/** Records a completed action in one entry. For actions without an audited route: commands and sign-ins. */
export async function recordAct(
  storage: Pick<Storage, 'appendAudit'>,
  clock: Clock,
  { after, ...act }: Act & { after?: unknown },
): Promise<void> {
  const at = clock.now()
  const done = withoutSecrets(after) ?? {}
  await storage.appendAudit({ entry: entryOf(act, { id: newId(at), at, after: done }) }, at)
}

function entryOf(
  { teamId, actor, action, target, before = null, details = {} }: Act,
  { id, at, after }: { id: string; at: number; after: unknown },
): NewAuditEntry {
  const data = {
    before: withoutSecrets(before),
    after,
    details: withoutSecrets(details) as Record<string, unknown>,
  }
  const targetName = targetNameIn({ target, ...data })
  return { id, teamId, at, ...actorFields(actor), action, target, targetName, ...data }
}
