/** Events in the form that webhooks need. */
import type { EventData } from '../../mail/event.ts'
import { type EventCursor, isAfter } from '../event-cursor.ts'
import {
  isAfterCursor,
  getReaderCursor,
  toCursor,
  eventOrder,
  getNewestCursor,
  isUpToCursor,
} from '../events.ts'
import type { Db } from '../schema.ts'
import type { NewEmail } from '../spool/put.ts'
import { toPublicWebhook, type PublicWebhook } from './webhooks.ts'

/** An event with the data about its email that webhooks need. */
export interface OutboxEvent {
  cursor: EventCursor
  id: string
  teamId: string
  emailId: string | null
  type: string
  createdAt: number
  data: EventData
  email:
    | (Pick<NewEmail, 'via' | 'from' | 'to' | 'subject' | 'messageId' | 'tags' | 'headers'> & {
        createdAt: number
        /** Template of the email; null if there is none. */
        templateId: string | null
        /** Broadcast of the email; null if there is none. */
        broadcastId: string | null
      })
    | null
}

/** A delivery that wasn't attempted because of the suppression list. */
export interface SuppressedDelivery {
  teamId: string
  emailId: string
  deliveryId: string
  /** The recipient, in A-labels. */
  recipient: string
}

const selectEvents = (db: Db) =>
  db
    .selectFrom('events as v')
    .leftJoin('emails as e', 'e.id', 'v.email_id')
    .select(['v.seq', 'v.id', 'v.team_id', 'v.email_id', 'v.type', 'v.created_at', 'v.data'])
    .select(['e.via', 'e.from_header', 'e.to_header', 'e.subject', 'e.message_id', 'e.tags', 'e.headers'])
    .select(['e.template_id', 'e.broadcast_id', 'e.created_at as email_created_at'])

type Row = Awaited<ReturnType<ReturnType<typeof selectEvents>['execute']>>[number]

const toEvent = (row: Row): OutboxEvent => ({
  cursor: toCursor(row),
  id: row.id,
  teamId: row.team_id,
  emailId: row.email_id,
  type: row.type,
  createdAt: row.created_at,
  data: JSON.parse(row.data) as EventData,
  email:
    row.email_id === null
      ? null
      : {
          via: row.via!,
          from: row.from_header!,
          to: JSON.parse(row.to_header!) as string[],
          subject: row.subject!,
          messageId: row.message_id!,
          tags: JSON.parse(row.tags!) as NewEmail['tags'],
          headers: JSON.parse(row.headers!) as NewEmail['headers'],
          createdAt: row.email_created_at!,
          templateId: row.template_id,
          broadcastId: row.broadcast_id,
        },
})

/**
 * Returns events after the cursor `webhooks`, oldest first, and the enabled webhooks of all teams. `to` is the last
 * examined event. `suppressed`: deliveries of these events that weren't attempted because of the suppression list, with
 * or without webhooks. Reads the webhooks after the events, so that it misses none that existed before an event. If
 * there are no webhooks, reads no events.
 */
async function readOutbox(
  db: Db,
  { limit }: { limit: number },
): Promise<{
  from: EventCursor
  to: EventCursor
  events: OutboxEvent[]
  webhooks: PublicWebhook[]
  suppressed: SuppressedDelivery[]
}> {
  const from = await getReaderCursor(db, 'webhooks')
  const last = await getNewestCursor(db)
  if (!isAfter(last, from)) return { from, to: from, events: [], webhooks: [], suppressed: [] }
  const nothing = { from, to: last, events: [], webhooks: [] }
  if (!(await anyEnabled(db))) return { ...nothing, suppressed: await notMade(db, from, last) }
  const rows = await selectEvents(db)
    .where(isAfterCursor('v', from))
    .where(isUpToCursor('v', last))
    .orderBy(eventOrder('v'))
    .limit(limit)
    .execute()
  const webhooks = await db.selectFrom('webhooks').selectAll().where('status', '=', 'enabled').execute()
  const to = rows.length < limit ? last : toCursor(rows.at(-1)!)
  const suppressed = await notMade(db, from, to)
  return { from, to, events: rows.map(toEvent), webhooks: webhooks.map(toPublicWebhook), suppressed }
}

/**
 * Returns deliveries that weren't attempted because of the suppression list, from the events after `from` up to `to`.
 */
async function notMade(db: Db, from: EventCursor, to: EventCursor): Promise<SuppressedDelivery[]> {
  const rows = await db
    .selectFrom('events')
    .select(['team_id', 'email_id', 'delivery_id', 'data'])
    .where(isAfterCursor('events', from))
    .where(isUpToCursor('events', to))
    .where('type', '=', 'email.suppressed')
    .execute()
  return rows.map((row) => ({
    teamId: row.team_id,
    emailId: row.email_id!,
    deliveryId: row.delivery_id!,
    recipient: (JSON.parse(row.data) as EventData).recipient ?? '',
  }))
}

async function anyEnabled(db: Db): Promise<boolean> {
  const found = await db
    .selectFrom('webhooks')
    .select('id')
    .where('status', '=', 'enabled')
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

/** Lists events of a team from `since` (inclusive) to `until` (exclusive), after a position, oldest first. */
async function listTeamEvents(
  db: Db,
  {
    teamId,
    since,
    until,
    after,
    limit,
  }: {
    teamId: string
    since: number
    until: number
    after: Pick<OutboxEvent, 'createdAt' | 'cursor'> | null
    limit: number
  },
): Promise<OutboxEvent[]> {
  let query = selectEvents(db)
    .where('v.team_id', '=', teamId)
    .where('v.created_at', '>=', after?.createdAt ?? since)
    .where('v.created_at', '<', until)
  if (after)
    query = query.where((where) =>
      where.or([where('v.created_at', '>', after.createdAt), isAfterCursor('v', after.cursor)]),
    )
  const rows = await query.orderBy('v.created_at').orderBy(eventOrder('v')).limit(limit).execute()
  return rows.map(toEvent)
}

export const methods = {
  reads: { readOutbox, listTeamEvents },
}
