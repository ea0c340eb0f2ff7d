/** Which contacts are in which segments. */
import { type Page, type PageArgs, pageOf } from '../lists.ts'
import type { Db } from '../schema.ts'
import { recordContact, segmentIdsOf } from './contact-events.ts'
import { type Contact, type ContactRef, getContact } from './contact-rows.ts'
import { addCounts, type Delta } from './counts.ts'

/** A segment or topic that the team doesn't have. */
export interface MissingRef {
  kind: 'unknown_segment' | 'unknown_topic'
  id: string
}

/** The first of the segments and topics that the team doesn't have; undefined: it has all of them. */
export async function missingOf(
  db: Db,
  teamId: string,
  { segmentIds, topics }: { segmentIds: readonly string[]; topics: readonly { id: string }[] },
): Promise<MissingRef | undefined> {
  const segment = await firstMissing(db, 'segments', teamId, segmentIds)
  if (segment !== undefined) return { kind: 'unknown_segment', id: segment }
  const topic = await firstMissing(
    db,
    'topics',
    teamId,
    topics.map(({ id }) => id),
  )
  return topic === undefined ? undefined : { kind: 'unknown_topic', id: topic }
}

async function firstMissing(
  db: Db,
  table: 'segments' | 'topics',
  teamId: string,
  ids: readonly string[],
): Promise<string | undefined> {
  if (ids.length === 0) return undefined
  const rows = await db
    .selectFrom(table)
    .select('id')
    .where('team_id', '=', teamId)
    .where('id', 'in', ids)
    .where('deleted_at', 'is', null)
    .execute()
  const there = new Set(rows.map(({ id }) => id))
  return ids.find((id) => !there.has(id))
}

/** Adds a contact to segments; returns how many it was not in before. */
export async function addMemberships(
  db: Db,
  { id, teamId }: Pick<Contact, 'id' | 'teamId'>,
  segmentIds: readonly string[],
  now: number,
): Promise<number> {
  const joined: Delta[] = []
  for (const segmentId of new Set(segmentIds)) {
    const added = await db
      .insertInto('contact_segments')
      .values({ segment_id: segmentId, contact_id: id, team_id: teamId, added_at: now })
      .onConflict((conflict) => conflict.columns(['segment_id', 'contact_id']).doNothing())
      .executeTakeFirstOrThrow()
    if (added.numInsertedOrUpdatedRows !== 0n) joined.push(['segment', segmentId, 1])
  }
  await addCounts(db, teamId, joined)
  return joined.length
}

/** Removes a contact from all its segments. */
export async function dropMemberships(db: Db, { id, teamId }: Contact): Promise<void> {
  const segmentIds = await segmentIdsOf(db, id)
  await db.deleteFrom('contact_segments').where('contact_id', '=', id).execute()
  await addCounts(
    db,
    teamId,
    segmentIds.map((segmentId): Delta => ['segment', segmentId, -1]),
  )
}

export interface MembershipArgs {
  teamId: string
  ref: ContactRef
  segmentId: string
}

/** Adds a contact to a segment, or leaves it there. Records `contact.updated`. */
export async function addToSegment(
  db: Db,
  { teamId, ref, segmentId }: MembershipArgs,
  now: number,
): Promise<Contact | 'no_contact' | 'no_segment'> {
  const contact = await getContact(db, { teamId, ref })
  if (!contact) return 'no_contact'
  if (await missingOf(db, teamId, { segmentIds: [segmentId], topics: [] })) return 'no_segment'
  const joined = await addMemberships(db, contact, [segmentId], now)
  if (joined > 0) await recordContact(db, 'contact.updated', contact, now)
  return contact
}

/** Removes a contact from a segment; nothing happens where it is not in it. Records `contact.updated`. */
export async function removeFromSegment(
  db: Db,
  { teamId, ref, segmentId }: MembershipArgs,
  now: number,
): Promise<Contact | 'no_contact' | 'no_segment'> {
  const contact = await getContact(db, { teamId, ref })
  if (!contact) return 'no_contact'
  if (await missingOf(db, teamId, { segmentIds: [segmentId], topics: [] })) return 'no_segment'
  const left = await db
    .deleteFrom('contact_segments')
    .where('segment_id', '=', segmentId)
    .where('contact_id', '=', contact.id)
    .executeTakeFirstOrThrow()
  if (left.numDeletedRows === 0n) return contact
  await addCounts(db, teamId, [['segment', segmentId, -1]])
  await recordContact(db, 'contact.updated', contact, now)
  return contact
}

/** Whether a contact is in a segment; false also where there is no such contact or segment. */
async function isInSegment(db: Db, { teamId, ref, segmentId }: MembershipArgs): Promise<boolean> {
  const contact = await getContact(db, { teamId, ref })
  return contact !== undefined && (await segmentIdsOf(db, contact.id)).includes(segmentId)
}

/** A segment of a contact. */
export interface Membership {
  id: string
  name: string
  /** When the contact was added (Unix milliseconds). */
  addedAt: number
}

/** The segments of a contact, newest first. */
async function listContactSegments(
  db: Db,
  { contactId, teamId, ...page }: PageArgs & { contactId: string },
): Promise<Page<Membership>> {
  const query = db
    .selectFrom('contact_segments')
    .innerJoin('segments', 'segments.id', 'contact_segments.segment_id')
    .select(['segments.id as id', 'segments.name as name', 'contact_segments.added_at as added_at'])
    .where('contact_segments.contact_id', '=', contactId)
    .where('contact_segments.team_id', '=', teamId)
    .where('segments.deleted_at', 'is', null)
  return pageOf(query, page, (row) => ({ id: row.id, name: row.name, addedAt: row.added_at }), 'segment_id')
}

/** The methods of this noun (nouns.ts). */
export const methods = {
  reads: { listContactSegments, isInSegment },
  writes: { addToSegment, removeFromSegment },
}
