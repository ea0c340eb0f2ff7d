/** Determines which contacts are in a segment, and which contacts one step examines. */
import { sql, type SqlBool } from 'kysely'
import type { Rules } from '../../mail/rules.ts'
import { buildCondition } from '../audience/rules.ts'
import type { Db } from '../schema.ts'

/** Matches rows of `contacts` that are in a segment, even if it was deleted after a broadcast started. */
export async function buildMemberCondition(db: Db, teamId: string, segmentId: string, now: number) {
  const row = await db
    .selectFrom('segments')
    .select('filter')
    .where('id', '=', segmentId)
    .where('team_id', '=', teamId)
    .executeTakeFirst()
  if (row?.filter) return buildCondition(db, teamId, JSON.parse(row.filter) as Rules, now)
  return sql<SqlBool>`exists (select 1 from contact_segments as m
    where m.segment_id = ${segmentId} and m.contact_id = contacts.id and m.added_at <= ${now})`
}

/** Returns the ID of the last contact that a step may examine; undefined if it may examine all that are left. */
export async function findScanEnd(
  db: Db,
  { teamId, after, scanned }: { teamId: string; after: string; scanned: number },
): Promise<string | undefined> {
  const row = await db
    .selectFrom('contacts')
    .select('id')
    .where('team_id', '=', teamId)
    .where('id', '>', after)
    .orderBy('id')
    .limit(1)
    .offset(scanned - 1)
    .executeTakeFirst()
  return row?.id
}
