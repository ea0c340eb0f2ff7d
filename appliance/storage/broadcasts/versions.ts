/** Versions of drafts. The newest one has the draft's current content. */
import type { BroadcastContent } from '../../mail/broadcast.ts'
import { deleteOldVersions, type Page, type PageArgs, readPage } from '../lists.ts'
import type { Db } from '../schema.ts'

export interface BroadcastVersionSummary {
  id: string
  broadcastId: string
  subject: string
  /** The person or API key that last changed the version; empty if unknown. */
  author: string
  createdAt: number
  updatedAt: number
}

export interface BroadcastVersion extends BroadcastVersionSummary {
  content: BroadcastContent
  /** JSON of the document that HTML and text were compiled from; null if they were written as code. */
  document: string | null
}

/** How to record a change of a draft. */
export interface VersionRecord {
  /** ID for a new version. */
  id: string
  author: string
  /**
   * Period in which the changes of one author are combined into one version, in milliseconds. With 0, each change is a
   * separate version.
   */
  together: number
  /** Number of versions to keep. */
  keep: number
}

interface Draft {
  id: string
  teamId: string
  content: BroadcastContent
  document: string | null
}

/** Records the content of a draft after a change, in its newest version or in a new one. */
export async function recordVersion(
  db: Db,
  { id: broadcastId, teamId, content, document }: Draft,
  { id, author, together, keep }: VersionRecord,
  now: number,
): Promise<void> {
  const newest = await db
    .selectFrom('broadcast_versions')
    .select(['id', 'author', 'document', 'created_at'])
    .where('broadcast_id', '=', broadcastId)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  const written = { subject: content.subject, content: JSON.stringify(content), document }
  const goesOn =
    newest?.author === author &&
    now - newest.created_at < together &&
    // If blocks are converted to code, keep the version with the blocks, because it is the only way to restore them.
    (newest.document === null) === (document === null)
  if (goesOn) {
    const change = { ...written, updated_at: now }
    await db.updateTable('broadcast_versions').set(change).where('id', '=', newest.id).execute()
    return
  }
  await db
    .insertInto('broadcast_versions')
    .values({
      id,
      team_id: teamId,
      broadcast_id: broadcastId,
      ...written,
      author,
      created_at: now,
      updated_at: now,
    })
    .execute()
  await deleteOldVersions(db, { table: 'broadcast_versions', owner: 'broadcast_id', id: broadcastId, keep })
}

const summaryColumns = ['id', 'broadcast_id', 'subject', 'author', 'created_at', 'updated_at'] as const

const toSummary = (row: {
  id: string
  broadcast_id: string
  subject: string
  author: string
  created_at: number
  updated_at: number
}): BroadcastVersionSummary => ({
  id: row.id,
  broadcastId: row.broadcast_id,
  subject: row.subject,
  author: row.author,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})

/** Lists the versions of a broadcast, newest first, without their content. */
async function listBroadcastVersions(
  db: Db,
  { broadcastId, ...args }: PageArgs & { broadcastId: string },
): Promise<Page<BroadcastVersionSummary>> {
  const versions = db
    .selectFrom('broadcast_versions')
    .select(summaryColumns)
    .where('team_id', '=', args.teamId)
    .where('broadcast_id', '=', broadcastId)
  return readPage(versions, args, toSummary)
}

/** Returns a version of a broadcast. */
async function getBroadcastVersion(
  db: Db,
  { teamId, broadcastId, id }: { teamId: string; broadcastId: string; id: string },
): Promise<BroadcastVersion | undefined> {
  const row = await db
    .selectFrom('broadcast_versions')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('broadcast_id', '=', broadcastId)
    .where('id', '=', id)
    .executeTakeFirst()
  return (
    row && {
      ...toSummary(row),
      content: JSON.parse(row.content) as BroadcastContent,
      document: row.document,
    }
  )
}

export const methods = { reads: { listBroadcastVersions, getBroadcastVersion } }
