/** What happened: the events that webhooks, metrics and the live view are made of. */
import { sql, type SqlBool } from 'kysely'
import { type EventData, lastEventOf, type OTHER_EVENTS } from '../mail/event.ts'
import { newId } from '../mail/ids.ts'
import { suppressionKey } from '../mail/suppression.ts'
import { createCountHit } from './broadcasts/results.ts'
import { BEFORE_ALL, type EventCursor } from './event-cursor.ts'
import { countersOf, countsUnique, quarterOf } from './metrics/counters.ts'
import type { Db, EventsTable } from './schema.ts'
import { type Connection, isPostgres } from './connection.ts'
import { preparedOn } from './sqlite/dialect.ts'
import { gatheringOn } from './sqlite/group-commit.ts'

/** An event as those who watch need it: they read the rest where they want to see more. */
export interface LiveEvent {
  cursor: EventCursor
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
  /** The broadcast that its email is part of; null: none. */
  broadcastId: string | null
  /** Recipients that it is about. Default 1. */
  amount?: number
}

/** An event with what it counts under. */
export interface Recorded {
  event: NewEvent
  under?: CountedUnder
}

let recorded = 0
/** How many events this thread has written, also those of transactions that were taken back. */
export const eventsRecorded = (): number => recorded

const COLUMNS =
  'id, team_id, email_id, delivery_id, type, created_at, data, counted, amount, domain_id, provider'

/** The values of the columns. */
type Values = (string | number | null)[]

/**
 * Writes events and adds them to the metrics, in the caller's transaction. Nothing else writes events. Kysely methods call it through
 * `preparedOn`. Each event stores what was counted, so that the metrics can be recomputed.
 */
export function createRecordEvents(db: Connection): (entries: readonly Recorded[]) => void {
  const insert = db.prepare(`insert into events (${COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
  const insertMany = db.prepare(
    `insert into events (${COLUMNS}) select ${COLUMNS.split(',')
      .map((_, at) => `value ->> ${at}`)
      .join(', ')} from json_each(?)`,
  )
  const lookUp = db.prepare<[string | null, string], CountedUnder>(
    `select e.domain_id as "domainId", coalesce(d.provider, '') as provider, e.broadcast_id as "broadcastId"
     from emails e left join deliveries d on d.email_id = e.id and d.id = ? where e.id = ?`,
  )
  const anyBefore = db.prepare<[string, string]>(
    `select 1 from events where email_id = ? and type = ? and counted like '%unique%' limit 1`,
  )
  const gathering = gatheringOn(db)
  const counts = gathering.of(createCounts)
  const ofBroadcasts = gathering.of(createBroadcastCounts)

  const count = ({ event, under }: Recorded): Values => {
    const { id, teamId, emailId, deliveryId, type, createdAt, data } = event
    const values = [id, teamId, emailId, deliveryId, type, createdAt, JSON.stringify(data)]
    const found = emailId === null ? undefined : (under ?? lookUp.get(deliveryId, emailId))
    if (emailId === null || !found) return [...values, '', 1, '', '']
    const { domainId, provider, broadcastId, amount = 1 }: CountedUnder = found
    const first = countsUnique(type, data) && anyBefore.get(emailId, type) === undefined
    const counters = countersOf(type, data, first)
    const at = quarterOf(createdAt)
    for (const counter of counters) {
      counts.add([teamId, at, domainId, counter, provider], amount)
      if (broadcastId !== null) ofBroadcasts.add([teamId, at, broadcastId, domainId, counter], amount)
    }
    return [...values, counters.join(' '), amount, domainId, provider]
  }

  return (entries) => {
    recorded += entries.length
    // What counts once for an email has to find the one before it. On PostgreSQL rows go together anyway.
    const alone =
      isPostgres(db) ||
      entries.length === 1 ||
      entries.some(({ event: { type, data } }) => countsUnique(type, data))
    if (alone) for (const entry of entries) insert.run(...count(entry))
    else if (entries.length > 0) insertMany.run(JSON.stringify(entries.map(count)))
    gathering.written()
  }
}

/** The roll-ups, which metrics are made of. */
const createCounts = (db: Connection) => countsIn(db, 'metrics', 'team_id, at, domain_id, counter, provider')

/** Those of broadcasts. */
const createBroadcastCounts = (db: Connection) =>
  countsIn(db, 'metrics_broadcasts', 'team_id, at, broadcast_id, domain_id, counter')

/** Numbers under a key of five columns: each is raised once in a commit, however many events do. */
function countsIn(db: Connection, name: string, key: string) {
  const insert = `insert into ${name} (${key}, n)`
  const raise = `on conflict (${key}) do update set n = ${name}.n + excluded.n`
  const one = db.prepare(`${insert} values (?, ?, ?, ?, ?, ?) ${raise}`)
  const many = db.prepare(
    `${insert} select value ->> 0, cast(value ->> 1 as bigint), value ->> 2, value ->> 3, value ->> 4, cast(value ->> 5 as bigint)
     from json_each(?) where true ${raise}`,
  )
  const sums = new Map<string, Values>()
  return {
    add(parts: Values, n: number): void {
      const of = parts.join('\n')
      const sum = sums.get(of)
      if (sum) sum[parts.length] = (sum[parts.length] as number) + n
      else sums.set(of, [...parts, n])
    },
    write(): void {
      const [first] = sums.values()
      if (!first) return
      if (sums.size === 1) one.run(...first)
      else many.run(JSON.stringify([...sums.values()]))
      sums.clear()
    },
    forget(): void {
      sums.clear()
    },
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
  const about = { emailId: null, deliveryId: null, createdAt: now }
  preparedOn(
    db,
    createRecordEvents,
  )(events.map((event) => ({ event: { ...event, ...about, id: newId(now) } })))
}

/**
 * The functions below are the only ones that know which events may be read, and in which order. An event is settled when none that comes before
 * it can become visible any more. On SQLite that is every event: transactions come one after the other. Another engine adds its condition to
 * `afterCursor` and `newestEvent`.
 */

/** What a query calls the table of events. */
type Called = 'events' | 'v'

/** The place of an event. */
export const cursorOf = ({ seq }: { seq: number }): EventCursor => ({ xid: 0, seq })

/** Settled events after the cursor. */
export const afterCursor = (called: Called, { seq }: EventCursor) =>
  sql<SqlBool>`${sql.ref(`${called}.seq`)} > ${seq}`

/** Events up to the cursor and with it. */
export const upToCursor = (called: Called, { seq }: EventCursor) =>
  sql<SqlBool>`${sql.ref(`${called}.seq`)} <= ${seq}`

/** The order of cursors, for `orderBy`. */
export const eventOrder = (called: Called) => sql`${sql.ref(`${called}.seq`)}`

/** Names of the readers whose place is stored. */
type Reader = 'webhooks' | 'tags'

/** Whether a reader has read the event; without a name, whether all of them have. */
export const isRead = (called: Called, reader?: Reader) =>
  sql<number>`(${sql.ref(`${called}.seq`)} <= (select min(seq) from cursors ${reader ? sql`where name = ${reader}` : sql``}))`

/** The last settled event. */
export async function newestEvent(db: Db): Promise<EventCursor> {
  const row = await db
    .selectFrom('events')
    .select((select) => select.fn.max('seq').as('seq'))
    .executeTakeFirst()
  return row?.seq ? cursorOf(row) : BEFORE_ALL
}

/** How far a reader has come. */
export async function cursorFor(db: Db, reader: Reader): Promise<EventCursor> {
  return db.selectFrom('cursors').select(['xid', 'seq']).where('name', '=', reader).executeTakeFirstOrThrow()
}

/** Moves a reader on, in the transaction of what it made of the events; false, and nothing moved, when it is not at `from` any more. */
export async function moveCursor(
  db: Db,
  { reader, from, to }: { reader: Reader; from: EventCursor; to: EventCursor },
): Promise<boolean> {
  const moved = await db
    .updateTable('cursors')
    .set(to)
    .where('name', '=', reader)
    .where('xid', '=', from.xid)
    .where('seq', '=', from.seq)
    .executeTakeFirstOrThrow()
  return moved.numUpdatedRows > 0n
}

/** Events after a cursor, of one team or of all, in their order. */
async function liveEvents(
  db: Db,
  { teamId, after, limit }: { teamId?: string | undefined; after: EventCursor; limit: number },
): Promise<LiveEvent[]> {
  let query = db
    .selectFrom('events')
    .select(['seq', 'team_id', 'email_id', 'type', 'created_at'])
    .where(afterCursor('events', after))
  if (teamId !== undefined) query = query.where('team_id', '=', teamId)
  const rows = await query.orderBy(eventOrder('events')).limit(limit).execute()
  return rows.map((row) => ({
    cursor: cursorOf(row),
    teamId: row.team_id,
    emailId: row.email_id,
    type: row.type,
    createdAt: row.created_at,
  }))
}

/** The place of the newest event: who listens from now on hears what comes after it. */
const lastEvent = (db: Db): Promise<EventCursor> => newestEvent(db)

/** What is known of an email when somebody opens it or follows its links. */
export interface TrackedEmail {
  teamId: string
  /** What the domain's owner wants recorded now. */
  opens: boolean
  clicks: boolean
  /** When the first recipient's server took it (Unix milliseconds); null: none has yet. */
  deliveredAt: number | null
  /** The one delivery and its recipient; null where there are several, which one link cannot tell apart. */
  deliveryId: string | null
  recipient: string | null
}

/** An open or a click. */
export interface NewHit {
  /** Of the event. */
  id: string
  teamId: string
  emailId: string
  deliveryId: string | null
  type: 'email.opened' | 'email.clicked'
  data: EventData
}

/** Undefined when there is no such email, or its domain is gone. */
async function trackedEmail(db: Db, { emailId }: { emailId: string }): Promise<TrackedEmail | undefined> {
  const email = await db
    .selectFrom('emails as e')
    .innerJoin('domains as d', 'd.id', 'e.domain_id')
    .select(['e.team_id', 'd.open_tracking', 'd.click_tracking'])
    .where('e.id', '=', emailId)
    .executeTakeFirst()
  if (!email) return undefined
  const recipients = await db
    .selectFrom('deliveries')
    .select(['id', 'recipient', 'state', 'updated_at'])
    .where('email_id', '=', emailId)
    .execute()
  const times = recipients.filter(({ state }) => state === 'delivered').map((row) => row.updated_at)
  const only = recipients.length === 1 ? recipients[0]! : null
  return {
    teamId: email.team_id,
    opens: email.open_tracking === 1,
    clicks: email.click_tracking === 1,
    deliveredAt: times.length > 0 ? times.reduce((least, time) => Math.min(least, time)) : null,
    deliveryId: only?.id ?? null,
    recipient: only?.recipient ?? null,
  }
}

/**
 * Records the event. A person's also becomes the email's `last_event`, unless that says more already, and is noted at the contact who
 * has the address.
 */
function createRecordHit(db: Connection): (hit: NewHit, now: number) => void {
  const find = db.prepare<[string, string], { broadcastId: string | null; contactId: string | null }>(
    'select broadcast_id as "broadcastId", contact_id as "contactId" from emails where id = ? and team_id = ?',
  )
  const countHit = createCountHit(db)
  const recordEvents = createRecordEvents(db)
  const updateEmail = db.prepare(
    `update emails set last_event = ? where id = ?
     and last_event in ('queued', 'scheduled', 'sent', 'delivery_delayed', 'delivered', 'opened')`,
  )
  const noteAt = (column: 'last_opened_at' | 'last_clicked_at') =>
    db.prepare(`update contacts set ${column} = ? where team_id = ? and address_key = ?`)
  const engaged = { 'email.opened': noteAt('last_opened_at'), 'email.clicked': noteAt('last_clicked_at') }
  return ({ id, teamId, emailId, deliveryId, type, data }, now) => {
    // Removed since it was looked at.
    const email = find.get(emailId, teamId)
    if (!email) return
    recordEvents([{ event: { id, teamId, emailId, deliveryId, type, createdAt: now, data } }])
    if (data.robot === true) return
    updateEmail.run(lastEventOf(type), emailId)
    if (data.recipient !== undefined) engaged[type].run(now, teamId, suppressionKey(data.recipient))
    const { broadcastId, contactId } = email
    if (broadcastId !== null && contactId !== null)
      countHit({ broadcastId, contactId, link: data.click?.link ?? null })
  }
}

/** The methods of this noun (nouns.ts). */
export const methods = {
  reads: { liveEvents, lastEvent, trackedEmail },
  prepared: { recordHit: createRecordHit },
}
