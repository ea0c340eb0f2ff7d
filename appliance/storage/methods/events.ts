/** Events of the methods that are written once for both engines. */
import { sql, type Insertable, type Kysely } from 'kysely'
import { countersOf, quarterOf } from '../counters.ts'
import type { EventData, OTHER_EVENTS } from '../../mail/event.ts'
import { newId } from '../../mail/ids.ts'
import type { EventsTable, Tables } from '../schema.ts'

/** An event about one recipient of an email, with what the metrics count it under. */
export interface CountedEvent {
  id: string
  teamId: string
  emailId: string
  deliveryId: string
  type: EventsTable['type']
  createdAt: number
  data: EventData
  domainId: string
  provider: string
}

/** An event that is about no email: nothing counts it. */
export interface OtherEvent {
  teamId: string
  type: (typeof OTHER_EVENTS)[number]
  data: EventData
}

/** Writes events about other things than emails, in the transaction of the caller. */
export async function recordOthers(db: Kysely<Tables>, events: OtherEvent[], now: number): Promise<void> {
  if (events.length === 0) return
  const rows = events.map(({ teamId, type, data }) => ({
    ...{ id: newId(now), team_id: teamId, email_id: null, delivery_id: null, type, created_at: now },
    data: JSON.stringify(data),
  }))
  await db.insertInto('events').values(rows).execute()
}

/** Events in one statement: eleven values for each must fit the engine's 32 766 parameters. */
const ROUND = 1000

/**
 * Writes events and what they add to the metrics, in the transaction of the caller. Not for opens and clicks, of which
 * the first counts for more: those are recorded one by one.
 */
export async function recordEvents(db: Kysely<Tables>, events: readonly CountedEvent[]): Promise<void> {
  for (let at = 0; at < events.length; at += ROUND) {
    const rows = events.slice(at, at + ROUND).map(toRow)
    await db.insertInto('events').values(rows).execute()
    await addUp(db, rows)
  }
}

type Row = Insertable<EventsTable> & { counted: string; domain_id: string; provider: string }

const toRow = (event: CountedEvent): Row => ({
  id: event.id,
  team_id: event.teamId,
  email_id: event.emailId,
  delivery_id: event.deliveryId,
  type: event.type,
  created_at: event.createdAt,
  data: JSON.stringify(event.data),
  counted: countersOf(event.type, event.data, false).join(' '),
  amount: 1,
  domain_id: event.domainId,
  provider: event.provider,
})

async function addUp(db: Kysely<Tables>, rows: readonly Row[]): Promise<void> {
  const about = (row: Row) => ({
    team_id: row.team_id,
    at: quarterOf(row.created_at),
    domain_id: row.domain_id,
    counter: row.counted,
    provider: row.provider,
  })
  const same = Map.groupBy(rows, (row) => JSON.stringify(about(row)))
  for (const [first, ...others] of same.values())
    await db
      .insertInto('metrics')
      .values({ ...about(first!), n: 1 + others.length })
      .onConflict((conflict) => conflict.doUpdateSet({ n: sql`metrics.n + excluded.n` }))
      .execute()
}
