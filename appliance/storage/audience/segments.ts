/** Segments: sets of contacts that only the team sees. */
import type { Selectable } from 'kysely'
import type { Db } from '../schema.ts'
import type { Rules } from '../../mail/rules.ts'
import { getCounts, deleteCounts } from './counts.ts'
import type { SegmentsTable } from './tables.ts'

export interface Segment {
  id: string
  teamId: string
  name: string
  /** The segment's rules; null if contacts are added explicitly. */
  filter: Rules | null
  createdAt: number
  updatedAt: number
}

/** A segment with its size. */
export interface SizedSegment extends Segment {
  contacts: number
  /** When the matching contacts were counted (Unix milliseconds); null if never, or if the segment has no rules. */
  countedAt: number | null
}

const toSegment = (row: Selectable<SegmentsTable>): Segment => ({
  id: row.id,
  teamId: row.team_id,
  name: row.name,
  filter: row.filter === null ? null : (JSON.parse(row.filter) as Rules),
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})

/**
 * Converts a row.
 * @param added number of contacts that were added to the segment
 */
const toSized = (row: Selectable<SegmentsTable>, added: number): SizedSegment => ({
  ...toSegment(row),
  contacts: row.filter === null ? added : (row.counted ?? 0),
  countedAt: row.counted_at,
})

/** Lists all segments of a team, newest first. */
async function listSegments(db: Db, { teamId }: { teamId: string }): Promise<SizedSegment[]> {
  const rows = await db
    .selectFrom('segments')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('deleted_at', 'is', null)
    .orderBy('id', 'desc')
    .execute()
  const count = await getCounts(db, teamId, ['segment'])
  return rows.map((row) => toSized(row, count('segment', row.id)))
}

async function getSegment(
  db: Db,
  { teamId, id }: { teamId: string; id: string },
): Promise<SizedSegment | undefined> {
  const row = await db
    .selectFrom('segments')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  if (!row) return undefined
  const count = await getCounts(db, teamId, ['segment'])
  return toSized(row, count('segment', id))
}

/**
 * Stores a segment. Returns false and stores nothing if the team already has `most` segments; for a segment with rules,
 * `most` segments with rules.
 */
async function createSegment(
  db: Db,
  { segment, most }: { segment: Segment; most: number },
): Promise<boolean> {
  let counting = db
    .selectFrom('segments')
    .select((select) => select.fn.countAll<number>().as('n'))
    .where('team_id', '=', segment.teamId)
    .where('deleted_at', 'is', null)
  if (segment.filter) counting = counting.where('filter', 'is not', null)
  const { n } = await counting.executeTakeFirstOrThrow()
  if (Number(n) >= most) return false
  await db
    .insertInto('segments')
    .values({
      id: segment.id,
      team_id: segment.teamId,
      name: segment.name,
      filter: segment.filter && JSON.stringify(segment.filter),
      created_at: segment.createdAt,
      updated_at: segment.updatedAt,
      deleted_at: null,
    })
    .execute()
  return true
}

/** A change to a segment. Undefined fields are left unchanged. Rules can be changed only if the segment has rules. */
export interface SegmentChange {
  name?: string | undefined
  filter?: Rules | undefined
}

/** Changes the given fields. Returns false if the segment doesn't exist. */
async function updateSegment(
  db: Db,
  { teamId, id, change }: { teamId: string; id: string; change: SegmentChange },
  now: number,
): Promise<boolean> {
  const { name, filter } = change
  const updated = await db
    .updateTable('segments')
    .set({
      updated_at: now,
      ...(name !== undefined && { name }),
      ...(filter !== undefined && { filter: JSON.stringify(filter), counted_at: null }),
    })
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .$if(filter !== undefined, (query) => query.where('filter', 'is not', null))
    .executeTakeFirstOrThrow()
  return updated.numUpdatedRows > 0n
}

/** Stores the number of contacts that match the rules of a segment, unless the rules have changed meanwhile. */
async function saveSegmentCount(
  db: Db,
  { id, filter, contacts }: { id: string; filter: Rules; contacts: number },
  now: number,
): Promise<void> {
  await db
    .updateTable('segments')
    .set({ counted: contacts, counted_at: now })
    .where('id', '=', id)
    .where('filter', '=', JSON.stringify(filter))
    .execute()
}

/**
 * Hides a segment immediately; `sweepDeleted` removes its memberships later. Returns false if it doesn't exist.
 * Contacts are kept.
 */
async function deleteSegment(
  db: Db,
  { teamId, id }: { teamId: string; id: string },
  now: number,
): Promise<boolean> {
  const deleted = await db
    .updateTable('segments')
    .set({ deleted_at: now })
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow()
  if (deleted.numUpdatedRows === 0n) return false
  await deleteCounts(db, teamId, id)
  return true
}

/**
 * Removes at most `most` memberships of deleted segments and choices for deleted topics. Returns false if nothing is
 * left.
 */
async function sweepDeleted(db: Db, { most }: { most: number }): Promise<boolean> {
  const tables = [
    { table: 'segments', rows: 'contact_segments', column: 'segment_id' },
    { table: 'topics', rows: 'contact_topics', column: 'topic_id' },
  ] as const
  for (const { table, rows, column } of tables) {
    // Exclude segments and topics that a started broadcast still reads.
    const deleted = await db
      .selectFrom(table)
      .select('id')
      .where('deleted_at', 'is not', null)
      .where((row) =>
        row.not(
          row.exists(
            row
              .selectFrom('broadcasts as b')
              .select('b.id')
              .whereRef('b.team_id', '=', `${table}.team_id`)
              .where('b.status', '=', 'queued')
              .where('b.expanded_at', 'is', null),
          ),
        ),
      )
      .executeTakeFirst()
    if (!deleted) continue
    const contacts = await db
      .selectFrom(rows)
      .select('contact_id')
      .where(column as 'segment_id', '=', deleted.id)
      .limit(most)
      .execute()
    if (contacts.length > 0)
      await db
        .deleteFrom(rows)
        .where(column as 'segment_id', '=', deleted.id)
        .where(
          'contact_id',
          'in',
          contacts.map(({ contact_id: id }) => id),
        )
        .execute()
    if (contacts.length < most) await db.deleteFrom(table).where('id', '=', deleted.id).execute()
    return true
  }
  return false
}

export const methods = {
  reads: { listSegments, getSegment },
  writes: { createSegment, updateSegment, deleteSegment, saveSegmentCount, sweepDeleted },
}
