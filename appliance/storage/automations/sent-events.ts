/** Custom events that apps have sent. */
import { type Selectable, sql } from 'kysely'
import type { EventPayload } from '../../mail/custom-event.ts'
import { firstIdAt } from '../../mail/ids.ts'
import { toSuppressionKey } from '../../mail/suppression.ts'
import { type ContactRef, getContact } from '../audience/contact-rows.ts'
import { type Page, type PageArgs, readPage } from '../lists.ts'
import type { Db } from '../schema.ts'
import type { SentEventsTable } from './tables.ts'

export interface SentEvent {
  id: string
  teamId: string
  name: string
  /** ID of the contact; null if the address had no contact. */
  contactId: string | null
  email: string
  payload: EventPayload
  createdAt: number
}

/** An event to store: about a contact, or about an address that may have none. */
export interface NewSentEvent {
  id: string
  teamId: string
  name: string
  about: ContactRef
  payload: EventPayload
}

export const toSentEvent = (row: Selectable<SentEventsTable>): SentEvent => ({
  id: row.id,
  teamId: row.team_id,
  name: row.name,
  contactId: row.contact_id,
  email: row.email,
  payload: JSON.parse(row.payload) as EventPayload,
  createdAt: row.created_at,
})

const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)

/**
 * Stores an event. `no_contact`: the contact doesn't exist. `too_many`: the team has already sent `most` events on this
 * UTC day. In both cases, nothing is stored.
 */
async function sendCustomEvent(
  db: Db,
  { event, most }: { event: NewSentEvent; most: number },
  now: number,
): Promise<'sent' | 'no_contact' | 'too_many'> {
  const { id, teamId, name, about, payload } = event
  const contact = await getContact(db, { teamId, ref: about })
  const email = contact?.email ?? ('email' in about ? about.email : undefined)
  if (email === undefined) return 'no_contact'
  const counted = await db
    .insertInto('sent_event_days')
    .values({ team_id: teamId, day: dayOf(now), sent: 1 })
    .onConflict((conflict) =>
      conflict
        .columns(['team_id', 'day'])
        .doUpdateSet({ sent: sql`sent_event_days.sent + 1` })
        .where('sent_event_days.sent', '<', most),
    )
    .returning('sent')
    .executeTakeFirst()
  if (!counted) return 'too_many'
  await db
    .insertInto('sent_events')
    .values({
      id,
      team_id: teamId,
      name,
      contact_id: contact?.id ?? null,
      email,
      address_key: toSuppressionKey(email),
      payload: JSON.stringify(payload),
      created_at: now,
      pending: (await isAwaited(db, teamId, name)) ? 1 : 0,
    })
    .execute()
  return 'sent'
}

/** Whether an event may start or continue a run. */
async function isAwaited(db: Db, teamId: string, name: string): Promise<boolean> {
  const trigger = await db
    .selectFrom('automation_triggers as t')
    .innerJoin('automations as a', 'a.id', 't.automation_id')
    .select('a.id')
    .where('t.team_id', '=', teamId)
    .where('t.event_name', '=', name)
    .where('a.status', '=', 'enabled')
    .limit(1)
    .executeTakeFirst()
  if (trigger) return true
  const waiting = await db
    .selectFrom('automation_run_steps')
    .select('run_id')
    .where('team_id', '=', teamId)
    .where('event_name', '=', name)
    .limit(1)
    .executeTakeFirst()
  return waiting !== undefined
}

/** Lists the sent instances of one event, newest first. */
function listSentEvents(
  db: Db,
  { teamId, name, ...page }: PageArgs & { name: string },
): Promise<Page<SentEvent>> {
  const query = db
    .selectFrom('sent_events')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('name', '=', name)
  return readPage(query, page, toSentEvent)
}

/** Deletes events sent before a time, oldest first, at most `most`. Returns their number. */
async function purgeSentEvents(db: Db, { before, most }: { before: number; most: number }): Promise<number> {
  const old = db
    .selectFrom('sent_events')
    .select('id')
    .where('id', '<', firstIdAt(before))
    .orderBy('id')
    .limit(most)
  const { numDeletedRows } = await db
    .deleteFrom('sent_events')
    .where('id', 'in', old)
    .executeTakeFirstOrThrow()
  await db.deleteFrom('sent_event_days').where('day', '<', dayOf(before)).execute()
  return Number(numDeletedRows)
}

export const methods = {
  reads: { listSentEvents },
  writes: { sendCustomEvent, purgeSentEvents },
}
