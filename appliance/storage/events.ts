/** The events, which are the source of webhooks, metrics and the live view. */
import { sql, type SqlBool } from 'kysely'
import { type EventData, toLastEvent, type OTHER_EVENTS } from '../mail/event.ts'
import { newId } from '../mail/ids.ts'
import { toSuppressionKey } from '../mail/suppression.ts'
import { createHitCounter } from './broadcasts/results.ts'
import { START_CURSOR, type EventCursor } from './event-cursor.ts'
import { listCounters, isCountedUniquely, startOfQuarterHour } from './metrics/counters.ts'
import type { Db, EventsTable } from './schema.ts'
import { type Connection, isPostgres, getPrepared } from './connection.ts'
import { getPendingCounters } from './engine/group-commit.ts'

/** An event for the live view. Readers load other data on demand. */
export interface LiveEvent {
  cursor: EventCursor
  teamId: string
  emailId: string | null
  type: string
  createdAt: number
}

/** An event to store. `emailId` is null for events that aren't about an email, which the metrics don't count. */
export interface NewEvent {
  id: string
  teamId: string
  emailId: string | null
  deliveryId: string | null
  type: EventsTable['type']
  createdAt: number
  data: EventData
}

/** The keys under which the roll-ups count an event, if the caller knows them. Otherwise, they are looked up. */
export interface RollUpKeys {
  domainId: string
  /** Empty if the event is about several recipients. */
  provider: string
  /** ID of the email's broadcast; null if there is none. */
  broadcastId: string | null
  /** Number of recipients that the event is about; 1 by default. */
  amount?: number
}

/** An event, and the keys under which it is counted. */
export interface EventEntry {
  event: NewEvent
  under?: RollUpKeys
}

let recorded = 0
/** Returns the number of events that this thread has written, including those of rolled-back transactions. */
export const getRecordedEventCount = (): number => recorded

const COLUMNS =
  'id, team_id, email_id, delivery_id, type, created_at, data, counted, amount, domain_id, provider'

/** The values of an event's columns. */
type Values = (string | number | null)[]

/**
 * Writes events and adds them to the metrics, in the caller's transaction. All events are written by this function.
 * Kysely methods call it through `getPrepared`. Each event stores what was counted, so that the metrics can be
 * recomputed.
 */
export function createEventRecorder(db: Connection): (entries: readonly EventEntry[]) => void {
  const insert = db.prepare(`insert into events (${COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
  const insertMany = db.prepare(
    `insert into events (${COLUMNS}) select ${COLUMNS.split(',')
      .map((_, at) => `value ->> ${at}`)
      .join(', ')} from json_each(?)`,
  )
  const lookUp = db.prepare<[string | null, string], RollUpKeys>(
    `select e.domain_id as "domainId", coalesce(d.provider, '') as provider, e.broadcast_id as "broadcastId"
     from emails e left join deliveries d on d.email_id = e.id and d.id = ? where e.id = ?`,
  )
  const anyBefore = db.prepare<[string, string]>(
    `select 1 from events where email_id = ? and type = ? and counted like '%unique%' limit 1`,
  )
  const gathering = getPendingCounters(db)
  const counts = gathering.of(createCounts)
  const ofBroadcasts = gathering.of(createBroadcastCounts)

  const count = ({ event, under }: EventEntry): Values => {
    const { id, teamId, emailId, deliveryId, type, createdAt, data } = event
    const values = [id, teamId, emailId, deliveryId, type, createdAt, JSON.stringify(data)]
    const found = emailId === null ? undefined : (under ?? lookUp.get(deliveryId, emailId))
    if (emailId === null || !found) return [...values, '', 1, '', '']
    const { domainId, provider, broadcastId, amount = 1 }: RollUpKeys = found
    const first = isCountedUniquely(type, data) && anyBefore.get(emailId, type) === undefined
    const counters = listCounters(type, data, first)
    const at = startOfQuarterHour(createdAt)
    for (const counter of counters) {
      counts.add([teamId, at, domainId, counter, provider], amount)
      if (broadcastId !== null) ofBroadcasts.add([teamId, at, broadcastId, domainId, counter], amount)
    }
    return [...values, counters.join(' '), amount, domainId, provider]
  }

  return (entries) => {
    recorded += entries.length
    // An event that is counted once per email requires earlier ones to be written. On PostgreSQL, rows are combined in
    // any case.
    const alone =
      isPostgres(db) ||
      entries.length === 1 ||
      entries.some(({ event: { type, data } }) => isCountedUniquely(type, data))
    if (alone) for (const entry of entries) insert.run(...count(entry))
    else if (entries.length > 0) insertMany.run(JSON.stringify(entries.map(count)))
    gathering.written()
  }
}

/** Creates the counters for the roll-ups of the metrics. */
const createCounts = (db: Connection) => countsIn(db, 'metrics', 'team_id, at, domain_id, counter, provider')

/** Creates the counters for the roll-ups of broadcasts. */
const createBroadcastCounts = (db: Connection) =>
  countsIn(db, 'metrics_broadcasts', 'team_id, at, broadcast_id, domain_id, counter')

/**
 * Creates counters with a key of five columns. Each is written once per commit, no matter how many events increment it.
 */
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

/** An event that isn't about an email. The metrics don't count such events. */
export interface OtherEvent {
  teamId: string
  type: (typeof OTHER_EVENTS)[number]
  data: EventData
}

/** Writes events that aren't about emails, in the caller's transaction. */
export function recordOtherEvents(db: Db, events: OtherEvent[], now: number): void {
  const about = { emailId: null, deliveryId: null, createdAt: now }
  getPrepared(
    db,
    createEventRecorder,
  )(events.map((event) => ({ event: { ...event, ...about, id: newId(now) } })))
}

/**
 * Only the functions below determine which events may be read, and in which order. An event is settled when no earlier
 * event can become visible anymore. On SQLite, every event is settled, because transactions run one after the other.
 * Another engine adds its condition to `isAfterCursor` and `getNewestCursor`.
 */

/** The name of the events table in a query. */
type Called = 'events' | 'v'

/** Returns the position of an event. */
export const toCursor = ({ seq }: { seq: number }): EventCursor => ({ xid: 0, seq })

/** Matches settled events after the cursor. */
export const isAfterCursor = (called: Called, { seq }: EventCursor) =>
  sql<SqlBool>`${sql.ref(`${called}.seq`)} > ${seq}`

/** Matches events up to and including the cursor. */
export const isUpToCursor = (called: Called, { seq }: EventCursor) =>
  sql<SqlBool>`${sql.ref(`${called}.seq`)} <= ${seq}`

/** Sorts events in the order of cursors, for `orderBy`. */
export const eventOrder = (called: Called) => sql`${sql.ref(`${called}.seq`)}`

/** Readers whose position is stored. */
type Reader = 'webhooks' | 'tags' | 'insights'

/**
 * Matches events that a reader has read or, without a name, that all readers have read. Retention doesn't wait for the
 * insights reader, whose counts may miss emails.
 */
export const isRead = (called: Called, reader?: Reader) =>
  sql<number>`(${sql.ref(`${called}.seq`)} <= (select min(seq) from cursors where ${reader ? sql`name = ${reader}` : sql`name <> 'insights'`}))`

/** Returns the position of the last settled event. */
export async function getNewestCursor(db: Db): Promise<EventCursor> {
  const row = await db
    .selectFrom('events')
    .select((select) => select.fn.max('seq').as('seq'))
    .executeTakeFirst()
  return row?.seq ? toCursor(row) : START_CURSOR
}

/** Returns the stored position of a reader. */
export async function getReaderCursor(db: Db, reader: Reader): Promise<EventCursor> {
  return db.selectFrom('cursors').select(['xid', 'seq']).where('name', '=', reader).executeTakeFirstOrThrow()
}

/**
 * Moves a reader forward, in the transaction that stores its results. Returns false and changes nothing if the reader
 * isn't at `from` anymore.
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

/** Lists events after a cursor in order, of one team or of all teams. */
async function liveEvents(
  db: Db,
  { teamId, after, limit }: { teamId?: string | undefined; after: EventCursor; limit: number },
): Promise<LiveEvent[]> {
  let query = db
    .selectFrom('events')
    .select(['seq', 'team_id', 'email_id', 'type', 'created_at'])
    .where(isAfterCursor('events', after))
  if (teamId !== undefined) query = query.where('team_id', '=', teamId)
  const rows = await query.orderBy(eventOrder('events')).limit(limit).execute()
  return rows.map((row) => ({
    cursor: toCursor(row),
    teamId: row.team_id,
    emailId: row.email_id,
    type: row.type,
    createdAt: row.created_at,
  }))
}

/** Returns the position of the newest event, where a new listener starts. */
const lastEvent = (db: Db): Promise<EventCursor> => getNewestCursor(db)

/** Data about an email that is needed to record an open or a click. */
export interface TrackedEmail {
  teamId: string
  /** Whether the domain currently records opens and clicks. */
  opens: boolean
  clicks: boolean
  /** When the first recipient's server accepted the email (Unix milliseconds); null if none has yet. */
  deliveredAt: number | null
  /** The only delivery and its recipient; null if there are several, because they share the link. */
  deliveryId: string | null
  recipient: string | null
}

/** An open or a click. */
export interface NewHit {
  /** ID for the event. */
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
 * Records the event of an open or a click. If a person caused it, the event also becomes the email's `last_event`
 * unless a later status is recorded, and its time is stored with the contact who has the recipient's address.
 */
function createRecordHit(db: Connection): (hit: NewHit, now: number) => void {
  const find = db.prepare<[string, string], { broadcastId: string | null; contactId: string | null }>(
    'select broadcast_id as "broadcastId", contact_id as "contactId" from emails where id = ? and team_id = ?',
  )
  const countHit = createHitCounter(db)
  const recordEvents = createEventRecorder(db)
  const updateEmail = db.prepare(
    `update emails set last_event = ? where id = ?
     and last_event in ('queued', 'scheduled', 'sent', 'delivery_delayed', 'delivered', 'opened')`,
  )
  const noteAt = (column: 'last_opened_at' | 'last_clicked_at') =>
    db.prepare(`update contacts set ${column} = ? where team_id = ? and address_key = ?`)
  const engaged = { 'email.opened': noteAt('last_opened_at'), 'email.clicked': noteAt('last_clicked_at') }
  return ({ id, teamId, emailId, deliveryId, type, data }, now) => {
    // Undefined if the email was deleted after it was looked up.
    const email = find.get(emailId, teamId)
    if (!email) return
    recordEvents([{ event: { id, teamId, emailId, deliveryId, type, createdAt: now, data } }])
    if (data.robot === true) return
    updateEmail.run(toLastEvent(type), emailId)
    if (data.recipient !== undefined) engaged[type].run(now, teamId, toSuppressionKey(data.recipient))
    const { broadcastId, contactId } = email
    if (broadcastId !== null && contactId !== null)
      countHit({ broadcastId, contactId, link: data.click?.link ?? null })
  }
}

export const methods = {
  reads: { liveEvents, lastEvent, trackedEmail },
  prepared: { recordHit: createRecordHit },
}
