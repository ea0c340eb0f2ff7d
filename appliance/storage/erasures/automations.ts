/** Erases custom events about an address, and the runs that they started. */
import { toSuppressionKey } from '../../mail/suppression.ts'
import type { Db } from '../schema.ts'
import { findContactByAddress } from './contacts.ts'
import type { PhaseResult, ErasureContext } from './scan.ts'

/** Maximum number of rows to remove in one step. A row has up to 32 KB. */
const ROWS = 200

/** Removes events by address, and by the contact that currently has the address. */
export async function sentEventsPhase(db: Db, scan: ErasureContext, after: string): Promise<PhaseResult> {
  const contact = await findContactByAddress(db, scan)
  const rows = await db
    .selectFrom('sent_events')
    .select(['id', 'contact_id'])
    .where('team_id', '=', scan.teamId)
    .where((row) =>
      row.or([
        row('address_key', '=', toSuppressionKey(scan.address)),
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
