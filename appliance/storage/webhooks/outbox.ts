/** Events in the form that webhooks need. */
import type { EventData } from '../../mail/event.ts'
import { type EventCursor, isAfter } from '../event-cursor.ts'
import { afterCursor, cursorFor, cursorOf, eventOrder, newestEvent, upToCursor } from '../events.ts'
import type { Db } from '../schema.ts'
import type { NewEmail } from '../spool/put.ts'
import { toListener, type WebhookListener } from './webhooks.ts'

/** An event with the data of its email for webhooks. */
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

/** A delivery that the suppression list prevented. */
export interface NotMade {
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
  cursor: cursorOf(row),
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
 * examined event. `suppressed`: the deliveries among them that the suppression list prevented, with or without
 * webhooks. Reads the webhooks after the events, so that none that existed before an event is missed. Without any
 * webhooks, reads no events.
 */
async function readOutbox(
  db: Db,
  { limit }: { limit: number },
): Promise<{
  from: EventCursor
  to: EventCursor
  events: OutboxEvent[]
  webhooks: WebhookListener[]
  suppressed: NotMade[]
}> {
  const from = await cursorFor(db, 'webhooks')
  const last = await newestEvent(db)
  if (!isAfter(last, from)) return { from, to: from, events: [], webhooks: [], suppressed: [] }
  const nothing = { from, to: last, events: [], webhooks: [] }
  if (!(await anyEnabled(db))) return { ...nothing, suppressed: await notMade(db, from, last) }
  const rows = await selectEvents(db)
    .where(afterCursor('v', from))
    .where(upToCursor('v', last))
    .orderBy(eventOrder('v'))
    .limit(limit)
    .execute()
  const webhooks = await db.selectFrom('webhooks').selectAll().where('status', '=', 'enabled').execute()
  const to = rows.length < limit ? last : cursorOf(rows.at(-1)!)
  const suppressed = await notMade(db, from, to)
  return { from, to, events: rows.map(toEvent), webhooks: webhooks.map(toListener), suppressed }
}

/** Returns deliveries that the suppression list prevented, among the events after `from` up to `to`. */
async function notMade(db: Db, from: EventCursor, to: EventCursor): Promise<NotMade[]> {
  const rows = await db
    .selectFrom('events')
    .select(['team_id', 'email_id', 'delivery_id', 'data'])
    .where(afterCursor('events', from))
    .where(upToCursor('events', to))
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

/** Lists events of a team from `since` (inclusive) to `until` (exclusive), after the position, oldest first. */
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
      where.or([where('v.created_at', '>', after.createdAt), afterCursor('v', after.cursor)]),
    )
  const rows = await query.orderBy('v.created_at').orderBy(eventOrder('v')).limit(limit).execute()
  return rows.map(toEvent)
}

export const methods = {
  reads: { readOutbox, listTeamEvents },
}
