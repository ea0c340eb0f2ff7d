/** Returned messages that haven't been read yet, and the effects of reading them. */
import { sql } from 'kysely'
import { isReportWanted } from '../mail/dsn.ts'
import { toLastEvent, type EventData } from '../mail/event.ts'
import { newId } from '../mail/ids.ts'
import type { ReturnedMailReport } from '../mail/returned.ts'
import type { Cause, DeliveryState } from '../mail/verdict.ts'
import { applyComplaint } from './audience/complaints.ts'
import { parseNotify } from './deliveries.ts'
import { createEventRecorder } from './events.ts'
import { createDueReportRecorder } from './reports.ts'
import type { Db } from './schema.ts'
import { getPrepared } from './connection.ts'
import { createComplaintRecorder, createBounceSuppressor } from './suppressions.ts'

/** A delivery of the returned email. */
export interface ReturnedDelivery {
  id: string
  recipient: string
  state: DeliveryState
  /** Whether an attempt is running, whose result isn't known here yet. */
  leased: boolean
  complained: boolean
}

/** A message to read. */
export interface UnreadReturnedMessage {
  id: string
  teamId: string
  emailId: string
  /** The return path of the email. */
  returnPath: string
  rcptTo: string
  receivedAt: number
  /** Number of times that reading the message was started, including this one. */
  attempts: number
  bytes: Uint8Array
  deliveries: ReturnedDelivery[]
}

/** A delivery that bounced after it was delivered. */
export interface LateBounce {
  deliveryId: string
  cause: Cause
  data: EventData
}

/** The effects of a message. */
export interface SettleReturnedArgs {
  id: string
  report: ReturnedMailReport
  bounces: LateBounce[]
  /** Deliveries with a complaint, each with a sentence that says who reported it. */
  complaints: { deliveryId: string; reason: string }[]
}

/** Returns the oldest due message and counts the attempt to read it; undefined if there is none. */
async function beginReturned(db: Db, _args: object, now: number): Promise<UnreadReturnedMessage | undefined> {
  const row = await db
    .selectFrom('returned_unread as u')
    .innerJoin('returned_messages as m', 'm.id', 'u.id')
    .innerJoin('emails as e', 'e.id', 'm.email_id')
    .select(['u.id', 'u.attempts', 'm.team_id', 'm.email_id', 'm.rcpt_to', 'm.received_at', 'e.return_path'])
    .select(sql<Uint8Array>`coalesce(u.body, m.body)`.as('body'))
    .where('u.due_at', '<=', now)
    .orderBy('u.due_at')
    .orderBy('u.id')
    .limit(1)
    .executeTakeFirst()
  if (!row) return undefined
  const attempts = row.attempts + 1
  await db.updateTable('returned_unread').set({ attempts }).where('id', '=', row.id).execute()
  return {
    id: row.id,
    teamId: row.team_id,
    emailId: row.email_id,
    returnPath: row.return_path,
    rcptTo: row.rcpt_to,
    receivedAt: row.received_at,
    attempts,
    bytes: row.body,
    deliveries: await deliveriesOf(db, row.email_id),
  }
}

async function deliveriesOf(db: Db, emailId: string): Promise<ReturnedDelivery[]> {
  const rows = await db
    .selectFrom('deliveries as d')
    .select(['d.id', 'd.recipient', 'd.state', 'd.lease_owner'])
    .select(
      sql<number>`exists (select 1 from events v
        where v.email_id = d.email_id and v.delivery_id = d.id and v.type = 'email.complained')`.as(
        'complained',
      ),
    )
    .where('d.email_id', '=', emailId)
    .execute()
  return rows.map((row) => ({
    id: row.id,
    recipient: row.recipient,
    state: row.state,
    leased: row.lease_owner !== null,
    complained: Boolean(row.complained),
  }))
}

/** Postpones a message until `dueAt`, without counting the attempt. */
async function postponeReturned(db: Db, { id, dueAt }: { id: string; dueAt: number }): Promise<void> {
  await db
    .updateTable('returned_unread')
    .set((set) => ({ due_at: dueAt, attempts: set('attempts', '-', 1) }))
    .where('id', '=', id)
    .execute()
}

/** Returns when the next message is due (Unix milliseconds); undefined if there is none. */
async function nextReturned(db: Db): Promise<number | undefined> {
  const row = await db
    .selectFrom('returned_unread')
    .select('due_at')
    .orderBy('due_at')
    .limit(1)
    .executeTakeFirst()
  return row?.due_at
}

/**
 * Finishes reading a message. Stores states, events, suppressions and the report in one transaction. Returns false and
 * changes nothing if the message was already finished. Only deliveries in state `delivered` become `bounced`.
 */
async function settleReturned(db: Db, settled: SettleReturnedArgs, now: number): Promise<boolean> {
  const { id, report, complaints } = settled
  const unread = await db.deleteFrom('returned_unread').where('id', '=', id).executeTakeFirst()
  if (unread.numDeletedRows === 0n) return false
  const { team_id: teamId, email_id: emailId } = await db
    .selectFrom('returned_messages')
    .select(['team_id', 'email_id'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  const lost = new Set<string>()
  for (const bounce of settled.bounces)
    if (!(await bounceLate(db, { teamId, emailId, ...bounce }, now))) lost.add(bounce.deliveryId)
  const complain = getPrepared(db, createComplaintRecorder)
  for (const { deliveryId, reason } of complaints) {
    const about = { teamId, emailId, deliveryId }
    if (complain({ ...about, reason, suppress: true }, now) === 'recorded')
      await applyComplaint(db, about, now)
    else lost.add(deliveryId)
  }
  const entries = report.entries.map((entry) =>
    lost.has(entry.deliveryId ?? '') ? { ...entry, effect: 'unchanged' as const } : entry,
  )
  const text = JSON.stringify({ ...report, entries })
  await db.updateTable('returned_messages').set({ report: text }).where('id', '=', id).execute()
  return true
}

/** Applies a bounce as `settle` does after an attempt. Returns false if the delivery isn't `delivered` anymore. */
async function bounceLate(
  db: Db,
  { teamId, emailId, deliveryId, cause, data }: LateBounce & { teamId: string; emailId: string },
  now: number,
): Promise<boolean> {
  const row = await db
    .updateTable('deliveries')
    .set({ state: 'bounced', cause: JSON.stringify(cause), updated_at: now })
    .where('id', '=', deliveryId)
    .where('email_id', '=', emailId)
    .where('state', '=', 'delivered')
    .returning('notify')
    .executeTakeFirst()
  if (!row) return false
  const type = 'email.bounced'
  const event = { id: newId(now), teamId, emailId, deliveryId, type, createdAt: now, data } as const
  getPrepared(db, createEventRecorder)([{ event }])
  const email = await db
    .updateTable('emails')
    .set({ last_event: toLastEvent(type) })
    .where('id', '=', emailId)
    .returning('report_to')
    .executeTakeFirstOrThrow()
  getPrepared(db, createBounceSuppressor)({ teamId, emailId, cause, data }, now)
  if (email.report_to !== null && isReportWanted(parseNotify(row.notify), 'failed'))
    getPrepared(db, createDueReportRecorder)({ teamId, emailId, deliveryId, kind: 'failed' }, now)
  return true
}

export const methods = {
  reads: { nextReturned },
  writes: { beginReturned, postponeReturned, settleReturned },
}
