/** Public archives of teams, and the broadcasts in them. */
import type { Selectable } from 'kysely'
import { type Archive, type ArchiveSettings, DEFAULT_ARCHIVE } from '../../mail/archive.ts'
import type { BroadcastStatus } from '../../mail/broadcast.ts'
import type { Db } from '../schema.ts'
import type { ArchivesTable } from './tables.ts'

/** A broadcast in an archive. */
export interface ArchivedBroadcast {
  id: string
  teamId: string
  /** The frozen content. */
  revisionId: string
  status: BroadcastStatus
  startedAt: number
}

/** The last broadcast of a page of an archive. */
export interface ArchiveCursor {
  startedAt: number
  id: string
}

const toArchive = (row: Selectable<ArchivesTable>): Archive => ({
  ...(JSON.parse(row.settings) as Omit<ArchiveSettings, 'slug'>),
  slug: row.slug,
  teamId: row.team_id,
  updatedAt: row.updated_at,
})

/** Returns the archive of a team; a disabled one if it never changed it. */
async function getArchive(db: Db, { teamId }: { teamId: string }): Promise<Archive> {
  const row = await db.selectFrom('archives').selectAll().where('team_id', '=', teamId).executeTakeFirst()
  return row ? toArchive(row) : { ...DEFAULT_ARCHIVE, teamId, updatedAt: null }
}

/** Finds the archive of any team, for its public pages. */
async function findArchive(db: Db, { slug }: { slug: string }): Promise<Archive | undefined> {
  const row = await db.selectFrom('archives').selectAll().where('slug', '=', slug).executeTakeFirst()
  return row && toArchive(row)
}

/** Changes the archive of a team; other settings stay. `taken`: another team has the slug. */
async function updateArchive(
  db: Db,
  { teamId, change }: { teamId: string; change: Partial<ArchiveSettings> },
  now: number,
): Promise<Archive | 'taken'> {
  const archive = { ...(await getArchive(db, { teamId })), ...change, updatedAt: now }
  const { slug, status, title, description, domain, formId, indexed } = archive
  const other = slug === null ? undefined : await findArchive(db, { slug })
  if (other && other.teamId !== teamId) return 'taken'
  const settings: Omit<ArchiveSettings, 'slug'> = { status, title, description, domain, formId, indexed }
  const row = { slug, settings: JSON.stringify(settings), updated_at: now }
  await db
    .insertInto('archives')
    .values({ team_id: teamId, ...row })
    .onConflict((conflict) => conflict.column('team_id').doUpdateSet(row))
    .execute()
  return archive
}

/** Selects the published broadcasts whose content is frozen, with the winner of an A/B test. */
const published = (db: Db) =>
  db
    .selectFrom('broadcasts as b')
    .leftJoin('broadcast_ab_tests as t', 't.broadcast_id', 'b.id')
    .select(['b.id', 'b.team_id', 'b.revision_id', 'b.status', 'b.started_at', 't.revisions', 't.winner'])
    .where('b.archived_at', 'is not', null)
    .where('b.revision_id', 'is not', null)

type Published = Awaited<ReturnType<ReturnType<typeof published>['executeTakeFirstOrThrow']>>

/** Returns the frozen content that the archive shows: that of the winner of an A/B test, else that of variant A. */
const contentOf = ({ revision_id, revisions, winner }: Published): string =>
  winner === null || revisions === null ? revision_id! : (JSON.parse(revisions) as string[])[winner]!

const toArchived = (row: Published): ArchivedBroadcast => ({
  id: row.id,
  teamId: row.team_id,
  revisionId: contentOf(row),
  status: row.status,
  startedAt: row.started_at!,
})

/**
 * Lists the sent broadcasts of an archive, the last sent first.
 * @param args after: the last one of the previous page; undefined: from the newest. most: how many
 */
async function listArchived(
  db: Db,
  { teamId, after, most }: { teamId: string; after?: ArchiveCursor | undefined; most: number },
): Promise<ArchivedBroadcast[]> {
  let query = published(db).where('b.team_id', '=', teamId).where('b.status', '=', 'sent')
  if (after !== undefined) {
    const { startedAt, id } = after
    query = query.where((row) =>
      row.or([
        row('b.started_at', '<', startedAt),
        row.and([row('b.started_at', '=', startedAt), row('b.id', '<', id)]),
      ]),
    )
  }
  const rows = await query.orderBy('b.started_at', 'desc').orderBy('b.id', 'desc').limit(most).execute()
  return rows.map(toArchived)
}

/**
 * Finds a published broadcast of any team, for its page: a sent one, or one that is being sent, because its emails may
 * link to the page. Undefined for canceled and failed ones.
 */
async function findArchived(db: Db, { id }: { id: string }): Promise<ArchivedBroadcast | undefined> {
  const row = await published(db)
    .where('b.id', '=', id)
    .where('b.status', 'in', ['queued', 'sent'])
    .executeTakeFirst()
  return row && toArchived(row)
}

export const methods = {
  reads: { getArchive, findArchive, listArchived, findArchived },
  writes: { updateArchive },
}
