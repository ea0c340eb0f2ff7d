/** The audit log: every administrative act, before it happens and with what came of it. Entries are never changed otherwise. */
import type { Selectable, SelectQueryBuilder } from 'kysely'
import type { AuditEntry, NewAuditEntry } from '../mail/audit.ts'
import { firstIdAt } from '../mail/ids.ts'
import { contains, like, lowered, type Page, type PageArgs, pageOf } from './lists.ts'
import type { AuditLogTable, Db, Tables } from './schema.ts'

/** Which entries are meant: those that meet all conditions. */
export interface AuditFilter {
  /** Of this team; undefined: of all teams and of the appliance. */
  teamId?: string | undefined
  /** With a team: also those of the whole appliance. */
  appliance?: boolean | undefined
  /** Part of who acted or of the actor's name, in any case of letters. */
  actor?: string | undefined
  /** Noun and verb, `domain.create`, or a noun alone. */
  action?: string | undefined
  /** As it is written, `domain 0193…`, its noun or its id alone, or a part of its name in any case of letters. */
  target?: string | undefined
  /** From this instant on (Unix milliseconds). */
  since?: number | undefined
  /** Before this instant. */
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

/** Writes an act down. A long one is written down before it begins, with `after` null. */
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
 * What came of an act; once. False when there is no such entry, or it was said already.
 * @param args target: in place of the one that was written down, where what was made got its id meanwhile
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

/** Those that a team may see. */
function within(entries: Entries, { teamId, appliance }: Pick<AuditFilter, 'teamId' | 'appliance'>): Entries {
  if (teamId === undefined) return entries
  if (!appliance) return entries.where('team_id', '=', teamId)
  return entries.where((e) => e.or([e('team_id', '=', teamId), e('team_id', 'is', null)]))
}

/** Ids begin with the instant at which they were made: ranges of time are ranges of the primary key. */
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
        // The noun: what begins with it and a space, which is before an exclamation mark.
        e.and([e('target', '>=', `${target} `), e('target', '<', `${target}!`)]),
        like('target', `% ${lowered(target)}`),
        contains('target_name', target),
      ]),
    )
  if (since !== undefined) met = met.where('id', '>=', firstIdAt(since))
  if (until !== undefined) met = met.where('id', '<', firstIdAt(until))
  return met
}

/** Undefined for entries of other teams, where a team is given. `appliance`: as in the filter. */
async function getAudit(
  db: Db,
  { id, ...whose }: { id: string } & Pick<AuditFilter, 'teamId' | 'appliance'>,
): Promise<AuditEntry | undefined> {
  const entries = within(db.selectFrom('audit_log'), whose).where('id', '=', id)
  const row = await entries.selectAll().executeTakeFirst()
  return row && toEntry(row)
}

/** Newest first. */
async function listAudit(db: Db, args: AuditFilter & Omit<PageArgs, 'teamId'>): Promise<Page<AuditEntry>> {
  const entries = meeting(within(db.selectFrom('audit_log'), args), args)
  return pageOf(entries.selectAll(), args, toEntry)
}

/**
 * Removes entries of before an instant (Unix milliseconds), oldest first; returns how many. Those of rules that still hold
 * mail stay: undoing needs them.
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

/** The methods of this noun (nouns.ts). */
export const methods = {
  reads: { getAudit, listAudit },
  writes: { appendAudit, completeAudit, purgeAudit },
}
