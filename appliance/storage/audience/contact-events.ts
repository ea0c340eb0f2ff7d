/** Events about contacts. */
import type { Db } from '../schema.ts'
import { recordOtherEvents } from '../events.ts'
import type { RequestedChoice } from './choices.ts'
import type { Contact } from './contact-rows.ts'

/** Lists the segments of a contact, oldest first. */
export async function listSegmentIds(db: Db, contactId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('contact_segments as m')
    .innerJoin('segments as s', 's.id', 'm.segment_id')
    .select('m.segment_id')
    .where('m.contact_id', '=', contactId)
    .where('s.deleted_at', 'is', null)
    .orderBy('m.segment_id')
    .execute()
  return rows.map(({ segment_id: id }) => id)
}

/** Records an event about a contact in its current state. */
export async function recordContactEvent(
  db: Db,
  type: 'contact.created' | 'contact.updated' | 'contact.deleted',
  contact: Contact,
  now: number,
): Promise<void> {
  const { id, teamId, email, firstName, lastName, optOut, createdAt, updatedAt } = contact
  const segmentIds = await listSegmentIds(db, id)
  const unsubscribed = optOut !== null
  const told = { id, email, firstName, lastName, unsubscribed, segmentIds, createdAt, updatedAt }
  recordOtherEvents(db, [{ teamId, type, data: { contact: told } }], now)
}

/** Records which choices of a contact changed, if any did. */
export async function recordChoiceEvent(
  db: Db,
  { teamId, email }: Contact,
  topics: RequestedChoice[],
  now: number,
): Promise<void> {
  if (topics.length === 0) return
  recordOtherEvents(
    db,
    [{ teamId, type: 'contact.topics.updated', data: { choices: { email, topics } } }],
    now,
  )
}
