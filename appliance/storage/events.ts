/** The events, which webhooks, metrics and the live view are built from. */
import { sql, type SqlBool } from 'kysely'
import { type EventData, lastEventOf, type OTHER_EVENTS } from '../mail/event.ts'
import { newId } from '../mail/ids.ts'
import { suppressionKey } from '../mail/suppression.ts'
import { createCountHit } from './broadcasts/results.ts'
import { BEFORE_ALL, type EventCursor } from './event-cursor.ts'
import { countersOf, countsUnique, quarterOf } from './metrics/counters.ts'
import type { Db, EventsTable } from './schema.ts'
import { type Connection, isPostgres, preparedOn } from './connection.ts'
import { gatheringOn } from './engine/group-commit.ts'

/** An event for the live view. Readers load the rest on demand. */
export interface LiveEvent {
  cursor: EventCursor
  teamId: string
  emailId: string | null
  type: string
  createdAt: number
}

/** An event to store. `emailId` is null for events that aren't about an email. The metrics don't count those. */
export interface NewEvent {
  id: string
  teamId: string
  emailId: string | null
  deliveryId: string | null
  type: EventsTable['type']
  createdAt: number
  data: EventData
}

/** The keys that the roll-ups count an event under, if the caller knows them. Otherwise they are looked up. */
export interface CountedUnder {
  domainId: string
  /** Empty if the event is about several recipients. */
  provider: string
  /** Id of the email's broadcast; null if there is none. */
  broadcastId: string | null
  /** Number of recipients that the event is about. Default: 1. */
  amount?: number
}

/** An event with the keys that it counts under. */
export interface Recorded {
  event: NewEvent
  under?: CountedUnder
}

let recorded = 0
/** Returns how many events this thread has written, including rolled-back transactions. */
export const eventsRecorded = (): number => recorded

const COLUMNS =
  'id, team_id, email_id, delivery_id, type, created_at, data, counted, amount, domain_id, provider'

/** The values of the columns. */
type Values = (string | number | null)[]

/**
 * Writes events and adds them to the metrics, in the caller's transaction. Nothing else writes events. Kysely methods
 * call it through `preparedOn`. Each event stores what was counted, so that the metrics can be recomputed.
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
    // An event that counts once per email has to find earlier ones first. On PostgreSQL, rows are written together in
    // any case.
    const alone =
      isPostgres(db) ||
      entries.length === 1 ||
      entries.some(({ event: { type, data } }) => countsUnique(type, data))
    if (alone) for (const entry of entries) insert.run(...count(entry))
    else if (entries.length > 0) insertMany.run(JSON.stringify(entries.map(count)))
    gathering.written()
  }
}

/** The roll-ups of the metrics. */
const createCounts = (db: Connection) => countsIn(db, 'metrics', 'team_id, at, domain_id, counter, provider')

/** The roll-ups of broadcasts. */
const createBroadcastCounts = (db: Connection) =>
  countsIn(db, 'metrics_broadcasts', 'team_id, at, broadcast_id, domain_id, counter')

/** Counters with a key of five columns. Each is written once per commit, no matter how many events increment it. */
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

/** An event that isn't about an email. The metrics don't count it. */
export interface OtherEvent {
  teamId: string
  type: (typeof OTHER_EVENTS)[number]
  data: EventData
}

/** Writes events that aren't about emails, in the caller's transaction. */
export function recordOthers(db: Db, events: OtherEvent[], now: number): void {
  const about = { emailId: null, deliveryId: null, createdAt: now }
  preparedOn(
    db,
    createRecordEvents,
  )(events.map((event) => ({ event: { ...event, ...about, id: newId(now) } })))
}

/**
 * Only the functions below know which events may be read, and in which order. An event is settled when no earlier event
 * can become visible any more. On SQLite, every event is settled, because transactions run one after the other. Another
 * engine adds its condition to `afterCursor` and `newestEvent`.
 */

/** The name of the events table in a query. */
type Called = 'events' | 'v'

/** Returns the position of an event. */
export const cursorOf = ({ seq }: { seq: number }): EventCursor => ({ xid: 0, seq })

/** Matches settled events after the cursor. */
export const afterCursor = (called: Called, { seq }: EventCursor) =>
  sql<SqlBool>`${sql.ref(`${called}.seq`)} > ${seq}`

/** Matches events up to and including the cursor. */
export const upToCursor = (called: Called, { seq }: EventCursor) =>
  sql<SqlBool>`${sql.ref(`${called}.seq`)} <= ${seq}`

/** The order of cursors, for `orderBy`. */
export const eventOrder = (called: Called) => sql`${sql.ref(`${called}.seq`)}`

/** Readers with a stored position. */
type Reader = 'webhooks' | 'tags' | 'insights'

/**
 * Matches events that a reader has read; without a name, those that all readers have read. Retention doesn't wait for
 * the counts of insights, which may miss emails.
 */
export const isRead = (called: Called, reader?: Reader) =>
  sql<number>`(${sql.ref(`${called}.seq`)} <= (select min(seq) from cursors where ${reader ? sql`name = ${reader}` : sql`name <> 'insights'`}))`

/** Returns the position of the last settled event. */
export async function newestEvent(db: Db): Promise<EventCursor> {
  const row = await db
    .selectFrom('events')
    .select((select) => select.fn.max('seq').as('seq'))
    .executeTakeFirst()
  return row?.seq ? cursorOf(row) : BEFORE_ALL
}

/** Returns the position of a reader. */
export async function cursorFor(db: Db, reader: Reader): Promise<EventCursor> {
  return db.selectFrom('cursors').select(['xid', 'seq']).where('name', '=', reader).executeTakeFirstOrThrow()
}

/**
 * Moves a reader forward, in the transaction that stores its results. Returns false and changes nothing if the reader
 * isn't at `from` any more.
 */
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

/** Lists events after a cursor in order, of one team or of all. */
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

/** Returns the position of the newest event, where a new listener starts. */
const lastEvent = (db: Db): Promise<EventCursor> => newestEvent(db)

/** The data that recording an open or a click needs. */
export interface TrackedEmail {
  teamId: string
  /** Whether the domain currently records opens and clicks. */
  opens: boolean
  clicks: boolean
  /** When the first recipient's server accepted it (Unix milliseconds); null: none has yet. */
  deliveredAt: number | null
  /** The only delivery and its recipient; null if there are several, because one link can't tell them apart. */
  deliveryId: string | null
  recipient: string | null
}

/** An open or a click. */
export interface NewHit {
  /** Id of the event. */
  id: string
  teamId: string
  emailId: string
  deliveryId: string | null
  type: 'email.opened' | 'email.clicked'
  data: EventData
}

/** Finds an email; undefined if it or its domain doesn't exist. */
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
 * Records the event of an open or a click. If a person caused the event, it also becomes the email's `last_event`,
 * unless that is further along, and its time is stored with the contact who has the recipient's address.
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
    // Deleted since it was looked up.
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

export const methods = {
  reads: { liveEvents, lastEvent, trackedEmail },
  prepared: { recordHit: createRecordHit },
}
