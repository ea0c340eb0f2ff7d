/** Undoing an import: the contacts that it created are removed again, some in each transaction. */
import { firstIdAt } from '../../mail/ids.ts'
import type { Db } from '../schema.ts'
import { dropContact } from './contact-address.ts'
import { toContact } from './contact-rows.ts'
import type { ImportRef } from './imports.ts'

/** How far the clocks of nodes may be apart (milliseconds): ids are made by the one that imports. */
const CLOCKS = 60_000

/** Contacts that one transaction looks at: ids tell when contacts were made, not what made them. */
const LOOKED_AT = 5000

/** What a transaction removed; `closed`: the import has not ended, ended before `since`, or was undone already. */
export type ImportUndone = { removed: number; done: boolean } | 'closed'

/**
 * Removes at most `limit` contacts that an import created, the first that it created first. What they opted out of is kept under
 * the hash of their address. Contacts that the import changed stay as they are. Records no events, as imports record none.
 * @param args since: when the import must have ended at the earliest (Unix milliseconds)
 */
async function undoContactImport(
  db: Db,
  { teamId, id, since, limit }: ImportRef & { since: number; limit: number },
  now: number,
): Promise<ImportUndone> {
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
  for (const row of rows) await dropContact(db, toContact(row))
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

/** The methods of this noun (nouns.ts). */
export const methods = {
  writes: { undoContactImport },
}
