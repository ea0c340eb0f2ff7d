/** What happened: the events that webhooks, metrics and the live view are made of. */
import type { EventData, OTHER_EVENTS } from '../mail/event.ts'
import { newId } from '../mail/ids.ts'
import { countersOf, countsUnique, quarterOf } from './metrics/counters.ts'
import type { Db, EventsTable } from './schema.ts'
import type { Connection } from './sqlite/connection.ts'
import { preparedOn } from './sqlite/dialect.ts'

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

let recorded = 0
/** How many events this thread has written, also those of transactions that were taken back. */
export const eventsRecorded = (): number => recorded

/**
 * Writes an event, and what it adds to the metrics, in the transaction of the caller: no other code does. Methods in Kysely reach it with
 * `preparedOn`. The event keeps what was counted, so that the metrics can be made anew.
 */
export function createRecordEvent(db: Connection): (event: NewEvent, under?: CountedUnder) => void {
  const insert = db.prepare(
    `insert into events (id, team_id, email_id, delivery_id, type, created_at, data, counted, amount, domain_id, provider)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const add = db.prepare(
    `insert into metrics (team_id, at, domain_id, counter, provider, n) values (?, ?, ?, ?, ?, ?)
     on conflict (team_id, at, domain_id, counter, provider) do update set n = metrics.n + excluded.n`,
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
    recorded += 1
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

/** An event that is about no email: nothing counts it. */
export interface OtherEvent {
  teamId: string
  type: (typeof OTHER_EVENTS)[number]
  data: EventData
}

/** Writes events about other things than emails, in the transaction of the caller. */
export function recordOthers(db: Db, events: OtherEvent[], now: number): void {
  const record = preparedOn(db, createRecordEvent)
  for (const event of events)
    record({ ...event, id: newId(now), emailId: null, deliveryId: null, createdAt: now })
}

/** Events after a number, of one team or of all, in their order. */
async function liveEvents(
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
async function lastEvent(db: Db): Promise<number> {
  const row = await db
    .selectFrom('events')
    .select((select) => select.fn.max('seq').as('seq'))
    .executeTakeFirst()
  return row?.seq ?? 0
}

/** The methods of this noun (nouns.ts). */
export const methods = {
  reads: { liveEvents, lastEvent },
}
