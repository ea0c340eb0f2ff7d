/** Events of the methods that are written once for both engines. */
import { type Insertable, sql } from 'kysely'
import type { EventData, OTHER_EVENTS } from '../mail/event.ts'
import { newId } from '../mail/ids.ts'
import { countersOf, countsUnique, quarterOf } from './metrics/counters.ts'
import type { Db, EventsTable } from './schema.ts'
import type { Connection } from './sqlite/connection.ts'

/** An event as those who watch need it: they read the rest where they want to see more. */
export interface LiveEvent {
  seq: number
  teamId: string
  emailId: string | null
  type: string
  createdAt: number
}

/** Something that happened. `emailId` is null where it is about no email: such events are not counted. */
export interface NewEvent {
  id: string
  teamId: string
  emailId: string | null
  deliveryId: string | null
  type: EventsTable['type']
  createdAt: number
  data: EventData
}

/** What the roll-ups count an event under, where the caller knows it; else it is looked up. */
export interface CountedUnder {
  domainId: string
  /** Empty where the event is about several recipients. */
  provider: string
  /** Recipients that it is about. Default 1. */
  amount?: number
}

/**
 * Writes an event, and what it adds to the metrics, in the transaction of the caller: the one place where plain SQL does
 * it (`methods/events.ts` is its like for Kysely). The event keeps what was counted, so that the metrics can be made anew.
 */
export function createRecordEvent(db: Connection): (event: NewEvent, under?: CountedUnder) => void {
  const insert = db.prepare(
    `insert into events (id, team_id, email_id, delivery_id, type, created_at, data, counted, amount, domain_id, provider)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const add = db.prepare(
    `insert into metrics (team_id, at, domain_id, counter, provider, n) values (?, ?, ?, ?, ?, ?)
     on conflict do update set n = n + excluded.n`,
  )
  const lookUp = db.prepare<[string | null, string], { domainId: string; provider: string }>(
    `select e.domain_id as domainId, coalesce(r.provider, '') as provider
     from emails e left join recipients r on r.id = ? where e.id = ?`,
  )
  const anyBefore = db.prepare<[string, string]>(
    `select 1 from events where email_id = ? and type = ? and counted like '%unique%' limit 1`,
  )
  const values = ({ id, teamId, emailId, deliveryId, type, createdAt, data }: NewEvent) => [
    ...[id, teamId, emailId, deliveryId, type, createdAt, JSON.stringify(data)],
  ]

  return (event, under) => {
    const { teamId, emailId, deliveryId, type, createdAt, data } = event
    const found = emailId === null ? undefined : (under ?? lookUp.get(deliveryId, emailId))
    if (emailId === null || !found) {
      insert.run(...values(event), '', 1, '', '')
      return
    }
    const { domainId, provider, amount = 1 }: CountedUnder = found
    const first = countsUnique(type, data) && anyBefore.get(emailId, type) === undefined
    const counters = countersOf(type, data, first)
    insert.run(...values(event), counters.join(' '), amount, domainId, provider)
    for (const counter of counters) add.run(teamId, quarterOf(createdAt), domainId, counter, provider, amount)
  }
}

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
export async function recordOthers(db: Db, events: OtherEvent[], now: number): Promise<void> {
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
export async function recordEvents(db: Db, events: readonly CountedEvent[]): Promise<void> {
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

async function addUp(db: Db, rows: readonly Row[]): Promise<void> {
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

/** Events after a number, of one team or of all, in their order. */
export async function liveEvents(
  db: Db,
  { teamId, after, limit }: { teamId?: string | undefined; after: number; limit: number },
): Promise<LiveEvent[]> {
  let query = db
    .selectFrom('events')
    .select(['seq', 'team_id', 'email_id', 'type', 'created_at'])
    .where('seq', '>', after)
  if (teamId !== undefined) query = query.where('team_id', '=', teamId)
  const rows = await query.orderBy('seq').limit(limit).execute()
  return rows.map((row) => ({
    seq: row.seq,
    teamId: row.team_id,
    emailId: row.email_id,
    type: row.type,
    createdAt: row.created_at,
  }))
}

/** Number of the newest event; 0 when there is none. */
export async function lastEvent(db: Db): Promise<number> {
  const row = await db
    .selectFrom('events')
    .select((select) => select.fn.max('seq').as('seq'))
    .executeTakeFirst()
  return row?.seq ?? 0
}

/** The methods of storage that are about events. */
export const methods = {
  reads: { liveEvents, lastEvent },
}
