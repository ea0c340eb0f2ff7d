/** Erases custom events about an address, and the runs that they started. */
import { suppressionKey } from '../../mail/suppression.ts'
import type { Db } from '../schema.ts'
import { contactOf } from './contacts.ts'
import type { Part, Scan } from './scan.ts'

/** Rows removed in one step, of up to 32 KB each. */
const ROWS = 200

/** Removes events by address, and by the contact that has the address now. */
export async function sentEventsPhase(db: Db, scan: Scan, after: string): Promise<Part> {
  const contact = await contactOf(db, scan)
  const rows = await db
    .selectFrom('sent_events')
    .select(['id', 'contact_id'])
    .where('team_id', '=', scan.teamId)
    .where((row) =>
      row.or([
        row('address_key', '=', suppressionKey(scan.address)),
        row('contact_id', '=', contact?.id ?? ''),
      ]),
    )
    .where('id', '>', after)
    .orderBy('id')
    .limit(ROWS)
    .execute()
  const ids = rows.map(({ id }) => id)
  if (scan.write && ids.length > 0) await db.deleteFrom('sent_events').where('id', 'in', ids).execute()
  const people = [...new Set([contact?.id, ...rows.map((row) => row.contact_id)])].filter(
    (id) => typeof id === 'string',
  )
  if (scan.write && people.length > 0)
    await db
      .deleteFrom('automation_runs')
      .where('team_id', '=', scan.teamId)
      .where('contact_id', 'in', people)
      .execute()
  return { counts: { sent_events: ids.length }, next: ids.length < ROWS ? null : ids.at(-1)! }
}
