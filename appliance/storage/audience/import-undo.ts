/** Undoes an import: removes the contacts that it created, a limited number in each transaction. */
import { firstIdAt } from '../../mail/ids.ts'
import type { Db } from '../schema.ts'
import { removeContactSilently } from './contact-address.ts'
import { toContact } from './contact-rows.ts'
import type { ImportRef } from './imports.ts'

/** Maximum difference between the clocks of nodes, in milliseconds. IDs contain the time of the node that imports. */
const CLOCKS = 60_000

/** Number of contacts that one transaction examines. IDs show when contacts were created, but not by which import. */
const LOOKED_AT = 5000

/** The result of a transaction. `closed`: the import is still running, ended before `since`, or was already undone. */
export type UndoImportResult = { removed: number; done: boolean } | 'closed'

/**
 * Removes at most `limit` contacts that an import created, oldest first. Keeps their opt-outs under the hash of their
 * address. Contacts that the import only changed are left unchanged. Records no events, because imports don't either.
 * @param args since: the earliest time at which the import may have ended (Unix milliseconds)
 */
async function undoContactImport(
  db: Db,
  { teamId, id, since, limit }: ImportRef & { since: number; limit: number },
  now: number,
): Promise<UndoImportResult> {
  const found = await db
    .selectFrom('contact_imports')
    .select(['created_at', 'undone', 'undo_after'])
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .where('status', 'in', ['completed', 'failed'])
    .where('completed_at', '>=', since)
    .where('undone_at', 'is', null)
    .executeTakeFirst()
  if (!found) return 'closed'
  const after = found.undo_after ?? firstIdAt(found.created_at - CLOCKS)
  const later = db.selectFrom('contacts').where('team_id', '=', teamId).where('id', '>', after).orderBy('id')
  const end = await later
    .select('id')
    .offset(LOOKED_AT - 1)
    .limit(1)
    .executeTakeFirst()
  const own = later.selectAll().where('created_from', '=', id).limit(limit)
  const rows = await (end ? own.where('id', '<=', end.id) : own).execute()
  for (const row of rows) await removeContactSilently(db, toContact(row))
  const full = rows.length === limit
  const done = !full && !end
  await db
    .updateTable('contact_imports')
    .set({
      undone: found.undone + rows.length,
      undo_after: full ? rows.at(-1)!.id : (end?.id ?? after),
      undone_at: done ? now : null,
    })
    .where('id', '=', id)
    .execute()
  return { removed: rows.length, done }
}

export const methods = {
  writes: { undoContactImport },
}
