import type { Kysely } from 'kysely'
import { reportWanted } from '../../mail/dsn.ts'
import { lastEventOf, type EventData } from '../../mail/event.ts'
import { newId } from '../../mail/ids.ts'
import type { Cause } from '../../mail/verdict.ts'
import type { Tables } from '../schema.ts'
import type { NewEmail, QueueFilter } from '../storage.ts'
import { matching, unleased } from './queue.ts'
import { fromNotify } from './recipients.ts'

/** Deliveries in one round of statements: eight values for each event must fit the engine's 32 766 parameters. */
const ROUND = 500

const reason = 'dropped by an operator'
const cause: Cause = { phase: 'queue', host: null, ip: null, reply: null, note: reason }

/** See `Storage.dropQueue`. Round after round within one transaction. */
export async function dropQueue(db: Kysely<Tables>, filter: QueueFilter, now: number): Promise<number> {
  let dropped = 0
  let last = ''
  for (;;) {
    const rows = await db
      .selectFrom('deliveries as d')
      .innerJoin('recipients as r', 'r.id', 'd.id')
      .innerJoin('emails as e', 'e.id', 'd.email_id')
      .select(['d.id', 'd.team_id', 'd.email_id', 'r.recipient', 'r.notify', 'e.report_to', 'e.via'])
      .where('d.id', 'in', (query) =>
        query
          .selectFrom('deliveries')
          .select('id')
          .where((where) => matching(where, filter))
          .where((where) => unleased(where, now))
          .where('id', '>', last)
          .orderBy('id')
          .limit(ROUND),
      )
      .orderBy('d.id')
      .execute()
    const end = rows.at(-1)
    if (!end) return dropped
    await giveUp(db, rows, now)
    dropped += rows.length
    last = end.id
  }
}

interface Dropped {
  id: string
  team_id: string
  email_id: string
  recipient: string
  notify: string | null
  report_to: string | null
  via: NewEmail['via']
}

async function giveUp(db: Kysely<Tables>, rows: Dropped[], now: number): Promise<void> {
  const ids = rows.map((row) => row.id)
  // Nobody sent a report, so nobody hears of its way.
  const events = rows
    .filter(({ via }) => via !== 'report')
    .map((row) => {
      const data: EventData = { recipient: row.recipient, cause, failed: { reason } }
      return {
        id: newId(now),
        team_id: row.team_id,
        email_id: row.email_id,
        delivery_id: row.id,
        type: 'email.failed' as const,
        created_at: now,
        data: JSON.stringify(data),
      }
    })
  await db
    .updateTable('recipients')
    .set((set) => ({
      state: 'failed',
      cause: JSON.stringify(cause),
      updated_at: now,
      attempts: set
        .selectFrom('deliveries')
        .select('deliveries.attempts')
        .whereRef('deliveries.id', '=', 'recipients.id')
        .$asScalar()
        .$notNull(),
    }))
    .where('id', 'in', ids)
    .execute()
  await db.deleteFrom('deliveries').where('id', 'in', ids).execute()
  if (events.length > 0) await db.insertInto('events').values(events).execute()
  await oweReports(db, rows, now)
  await db
    .updateTable('emails')
    .set({ last_event: lastEventOf('email.failed') })
    .where('id', 'in', [...new Set(rows.map((row) => row.email_id))])
    .execute()
}

/** What the senders of dropped deliveries are to be told. */
async function oweReports(db: Kysely<Tables>, rows: Dropped[], now: number): Promise<void> {
  const owed = rows.filter(
    ({ report_to, notify }) => report_to !== null && reportWanted(fromNotify(notify), 'failed'),
  )
  if (owed.length === 0) return
  const values = owed.map(({ id, team_id, email_id }) => ({
    delivery_id: id,
    kind: 'failed' as const,
    team_id,
    email_id,
    created_at: now,
  }))
  await db
    .insertInto('reports')
    .values(values)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}
