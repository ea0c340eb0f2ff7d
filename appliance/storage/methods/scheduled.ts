/** The sender's second thoughts about an email that waits for its time. */
import type { Kysely } from 'kysely'
import { lastEventOf } from '../../mail/event.ts'
import type { Cause } from '../../mail/verdict.ts'
import type { Tables } from '../schema.ts'
import type { ScheduleChange } from '../storage.ts'

type Db = Kysely<Tables>

/**
 * The row that decides: `lease` turns `scheduled` into `sent` in the transaction in which it takes the first delivery, so
 * of a lease and a change at the same instant one finds it and the other does not.
 */
const scheduled = lastEventOf('email.scheduled')

/** See `Storage.reschedule`. */
export async function reschedule(
  db: Db,
  args: { teamId: string; id: string; scheduledAt: number; expiresAt: number },
): Promise<ScheduleChange> {
  const { numUpdatedRows } = await db
    .updateTable('emails')
    .set({ scheduled_at: args.scheduledAt })
    .where('id', '=', args.id)
    .where('team_id', '=', args.teamId)
    .where('last_event', '=', scheduled)
    .executeTakeFirstOrThrow()
  if (numUpdatedRows === 0n) return refusal(db, args)
  await db
    .updateTable('deliveries')
    .set({ due_at: args.scheduledAt, expires_at: args.expiresAt })
    .where('email_id', '=', args.id)
    .execute()
  return { kind: 'changed' }
}

const cause: Cause = {
  phase: 'queue',
  host: null,
  ip: null,
  reply: null,
  by: 'sender',
  note: 'canceled by its sender',
}

/** See `Storage.cancel`. */
export async function cancel(
  db: Db,
  args: { teamId: string; id: string },
  now: number,
): Promise<ScheduleChange> {
  const { numUpdatedRows } = await db
    .updateTable('emails')
    .set({ last_event: 'canceled' })
    .where('id', '=', args.id)
    .where('team_id', '=', args.teamId)
    .where('last_event', '=', scheduled)
    .executeTakeFirstOrThrow()
  if (numUpdatedRows === 0n) return refusal(db, args)
  await db
    .updateTable('recipients')
    .set({ state: 'canceled', cause: JSON.stringify(cause), updated_at: now })
    .where('email_id', '=', args.id)
    .where('state', '=', 'waiting')
    .execute()
  await db.deleteFrom('deliveries').where('email_id', '=', args.id).execute()
  return { kind: 'changed' }
}

async function refusal(db: Db, args: { teamId: string; id: string }): Promise<ScheduleChange> {
  const row = await db
    .selectFrom('emails')
    .select('last_event')
    .where('id', '=', args.id)
    .where('team_id', '=', args.teamId)
    .executeTakeFirst()
  return row ? { kind: 'not_scheduled', lastEvent: row.last_event } : { kind: 'unknown' }
}
