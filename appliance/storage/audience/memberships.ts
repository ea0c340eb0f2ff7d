/** Memberships of contacts in segments. */
import { sql } from 'kysely'
import { type Page, type PageArgs, readPage } from '../lists.ts'
import type { Db } from '../schema.ts'
import { recordContactEvent, listSegmentIds } from './contact-events.ts'
import { type Contact, type ContactRef, getContact } from './contact-rows.ts'
import { addCounts, type Delta } from './counts.ts'
import { buildCondition, findMatchingSegments, getSegmentRules } from './rules.ts'

/** A segment or topic that the team doesn't have, or a segment with rules, to which contacts can't be added. */
export interface MissingRef {
  kind: 'unknown_segment' | 'unknown_topic' | 'segment_with_rules'
  id: string
}

/** Returns the first segment or topic that contacts can't be added to; undefined if there is none. */
export async function findMissingRef(
  db: Db,
  teamId: string,
  { segmentIds, topics }: { segmentIds: readonly string[]; topics: readonly { id: string }[] },
): Promise<MissingRef | undefined> {
  const segment = await firstMissing(db, 'segments', teamId, segmentIds)
  if (segment !== undefined) return { kind: 'unknown_segment', id: segment }
  const ruled = segmentIds.length === 0 ? undefined : await firstWithRules(db, segmentIds)
  if (ruled !== undefined) return { kind: 'segment_with_rules', id: ruled }
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

async function firstWithRules(db: Db, segmentIds: readonly string[]): Promise<string | undefined> {
  const row = await db
    .selectFrom('segments')
    .select('id')
    .where('id', 'in', segmentIds)
    .where('filter', 'is not', null)
    .executeTakeFirst()
  return row?.id
}

/** Adds a contact to segments. Returns the number of new memberships. */
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
export async function deleteMemberships(db: Db, { id, teamId }: Contact): Promise<void> {
  const segmentIds = await listSegmentIds(db, id)
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

/** Adds a contact to a segment, unless it is already in it. Records `contact.updated`. */
export async function addToSegment(
  db: Db,
  { teamId, ref, segmentId }: MembershipArgs,
  now: number,
): Promise<Contact | 'no_contact' | MissingRef> {
  const contact = await getContact(db, { teamId, ref })
  if (!contact) return 'no_contact'
  const missing = await findMissingRef(db, teamId, { segmentIds: [segmentId], topics: [] })
  if (missing) return missing
  const joined = await addMemberships(db, contact, [segmentId], now)
  if (joined > 0) await recordContactEvent(db, 'contact.updated', contact, now)
  return contact
}

/** Removes a contact from a segment. Does nothing if the contact isn't in it. Records `contact.updated`. */
export async function removeFromSegment(
  db: Db,
  { teamId, ref, segmentId }: MembershipArgs,
  now: number,
): Promise<Contact | 'no_contact' | MissingRef> {
  const contact = await getContact(db, { teamId, ref })
  if (!contact) return 'no_contact'
  const missing = await findMissingRef(db, teamId, { segmentIds: [segmentId], topics: [] })
  if (missing) return missing
  const left = await db
    .deleteFrom('contact_segments')
    .where('segment_id', '=', segmentId)
    .where('contact_id', '=', contact.id)
    .executeTakeFirstOrThrow()
  if (left.numDeletedRows === 0n) return contact
  await addCounts(db, teamId, [['segment', segmentId, -1]])
  await recordContactEvent(db, 'contact.updated', contact, now)
  return contact
}

/** Whether a contact is in a segment; false if either doesn't exist. */
async function isInSegment(
  db: Db,
  { teamId, ref, segmentId }: MembershipArgs,
  now: number,
): Promise<boolean> {
  const contact = await getContact(db, { teamId, ref })
  if (!contact) return false
  if ((await listSegmentIds(db, contact.id)).includes(segmentId)) return true
  const rules = await getSegmentRules(db, teamId, segmentId)
  if (!rules) return false
  const row = await db
    .selectFrom('contacts')
    .select('id')
    .where('team_id', '=', teamId)
    .where('id', '=', contact.id)
    .where(await buildCondition(db, teamId, rules, now))
    .executeTakeFirst()
  return row !== undefined
}

/** A segment of a contact. */
export interface Membership {
  id: string
  name: string
  /** When the contact was added, or when the segment was created if it has rules (Unix milliseconds). */
  addedAt: number
}

/** Lists the segments of a contact, newest first. */
async function listContactSegments(
  db: Db,
  { contactId, teamId, ...page }: PageArgs & { contactId: string },
  now: number,
): Promise<Page<Membership>> {
  const matched = (await findMatchingSegments(db, teamId, [contactId], now)).map(({ id }) => id)
  const query = db
    .selectFrom('segments')
    .leftJoin('contact_segments', (join) =>
      join
        .onRef('segments.id', '=', 'contact_segments.segment_id')
        .on('contact_segments.contact_id', '=', contactId),
    )
    .select(['segments.id as id', 'segments.name as name'])
    .select(sql<number>`coalesce(contact_segments.added_at, segments.created_at)`.as('added_at'))
    .where('segments.team_id', '=', teamId)
    .where('segments.deleted_at', 'is', null)
    .where((row) => {
      const added = row('contact_segments.contact_id', 'is not', null)
      return matched.length === 0 ? added : row.or([added, row('segments.id', 'in', matched)])
    })
  const toMembership = (row: { id: string; name: string; added_at: number }) => ({
    id: row.id,
    name: row.name,
    addedAt: Number(row.added_at),
  })
  return readPage(query, page, toMembership, 'segments.id')
}

export const methods = {
  reads: { listContactSegments, isInSegment },
  writes: { addToSegment, removeFromSegment },
}
