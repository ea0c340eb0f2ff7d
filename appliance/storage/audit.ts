/**
 * The audit log. Every administrative action is stored before it runs, and then its outcome. Nothing else changes an
 * entry.
 */
import type { Selectable, SelectQueryBuilder } from 'kysely'
import type { AuditEntry, NewAuditEntry } from '../mail/audit.ts'
import { firstIdAt } from '../mail/ids.ts'
import { contains, like, escapeLike, type Page, type PageArgs, readPage } from './lists.ts'
import type { AuditLogTable, Db, Tables } from './schema.ts'

/** A filter for entries. All conditions must match. */
export interface AuditFilter {
  /** The team; undefined for the entries of all teams and of the server. */
  teamId?: string | undefined
  /** With a team: whether to include entries that affect the whole server. */
  appliance?: boolean | undefined
  /** Part of the actor or of the actor's name, ignoring case. */
  actor?: string | undefined
  /** Noun and verb of the action, such as `domain.create`, or only the noun. */
  action?: string | undefined
  /** The full target (`domain 0193…`), its noun or ID alone, or a part of its name, ignoring case. */
  target?: string | undefined
  /** At or after this time (Unix milliseconds). */
  since?: number | undefined
  /** Before this time (Unix milliseconds). */
  until?: number | undefined
}

const toText = (value: unknown): string | null =>
  value === null || value === undefined ? null : JSON.stringify(value)

const fromText = (text: string | null): unknown => (text === null ? null : JSON.parse(text))

const toEntry = (row: Selectable<AuditLogTable>): AuditEntry => ({
  id: row.id,
  teamId: row.team_id,
  at: row.at,
  actor: row.actor,
  actorKind: row.actor_kind,
  actorName: row.actor_name,
  ip: row.ip,
  action: row.action,
  target: row.target,
  targetName: row.target_name,
  before: fromText(row.before),
  after: fromText(row.after),
  details: JSON.parse(row.details) as Record<string, unknown>,
})

/** Appends an entry. A long action is recorded before it begins, with null for `after`. */
export async function appendAudit(db: Db, { entry }: { entry: NewAuditEntry }): Promise<void> {
  const { id, teamId, at, actor, actorKind, actorName, ip, action, target, targetName } = entry
  await db
    .insertInto('audit_log')
    .values({
      id,
      team_id: teamId,
      at,
      actor,
      actor_kind: actorKind,
      actor_name: actorName,
      ip,
      action,
      target,
      target_name: targetName,
      before: toText(entry.before),
      after: toText(entry.after),
      details: JSON.stringify(entry.details),
    })
    .execute()
}

/**
 * Records the outcome of an action, once. Returns false if there is no such entry or it already has an outcome.
 * @param args target: replaces the recorded target if the created object got its ID during the action
 */
export async function completeAudit(
  db: Db,
  { id, after, target }: { id: string; after: unknown; target?: string | undefined },
): Promise<boolean> {
  const updated = await db
    .updateTable('audit_log')
    .set({ after: toText(after), ...(target !== undefined && { target }) })
    .where('id', '=', id)
    .where('after', 'is', null)
    .executeTakeFirstOrThrow()
  return updated.numUpdatedRows > 0n
}

type Entries = SelectQueryBuilder<Tables, 'audit_log', unknown>

/** Restricts a query to the entries that a team may see. */
function within(entries: Entries, { teamId, appliance }: Pick<AuditFilter, 'teamId' | 'appliance'>): Entries {
  if (teamId === undefined) return entries
  if (!appliance) return entries.where('team_id', '=', teamId)
  return entries.where((e) => e.or([e('team_id', '=', teamId), e('team_id', 'is', null)]))
}

/** Applies the filter. IDs begin with their creation time, so time ranges are ranges of the primary key. */
function meeting(entries: Entries, { actor, action, target, since, until }: AuditFilter): Entries {
  let met = entries
  if (actor !== undefined)
    met = met.where((e) => e.or([contains('actor', actor), contains('actor_name', actor)]))
  if (action?.includes('.')) met = met.where('action', '=', action)
  else if (action !== undefined)
    met = met.where('action', '>=', `${action}.`).where('action', '<', `${action}/`)
  if (target !== undefined)
    met = met.where((e) =>
      e.or([
        e('target', '=', target),
        // If the target is a noun: matches targets that begin with it and a space, which sorts right before an
        // exclamation mark.
        e.and([e('target', '>=', `${target} `), e('target', '<', `${target}!`)]),
        like('target', `% ${escapeLike(target)}`),
        contains('target_name', target),
      ]),
    )
  if (since !== undefined) met = met.where('id', '>=', firstIdAt(since))
  if (until !== undefined) met = met.where('id', '<', firstIdAt(until))
  return met
}

/** Finds an entry. With a team, returns undefined for entries of other teams. `appliance` is used as in the filter. */
async function getAudit(
  db: Db,
  { id, ...whose }: { id: string } & Pick<AuditFilter, 'teamId' | 'appliance'>,
): Promise<AuditEntry | undefined> {
  const entries = within(db.selectFrom('audit_log'), whose).where('id', '=', id)
  const row = await entries.selectAll().executeTakeFirst()
  return row && toEntry(row)
}

/** Lists entries, newest first. */
async function listAudit(db: Db, args: AuditFilter & Omit<PageArgs, 'teamId'>): Promise<Page<AuditEntry>> {
  const entries = meeting(within(db.selectFrom('audit_log'), args), args)
  return readPage(entries.selectAll(), args, toEntry)
}

/**
 * Deletes entries older than `before` (Unix milliseconds), oldest first. Returns their number. Keeps entries of hold
 * rules that still hold mail, because they are needed to undo the action.
 */
async function purgeAudit(db: Db, { before, most }: { before: number; most: number }): Promise<number> {
  const old = db
    .selectFrom('audit_log')
    .select('id')
    .where('id', '<', firstIdAt(before))
    .where('id', 'not in', db.selectFrom('hold_rules').select('id'))
    .orderBy('id')
    .limit(most)
  const removed = await db.deleteFrom('audit_log').where('id', 'in', old).executeTakeFirstOrThrow()
  return Number(removed.numDeletedRows)
}

export const methods = {
  reads: { getAudit, listAudit },
  writes: { appendAudit, completeAudit, purgeAudit },
}
