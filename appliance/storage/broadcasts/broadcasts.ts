/** Broadcasts: drafts and their changes. For their states, see states.ts; for recipients, recipients.ts. */
import type { Selectable } from 'kysely'
import type { ProviderHolds } from '../../mail/automatic-pause.ts'
import type {
  BroadcastContent,
  BroadcastCounts,
  BroadcastReach,
  BroadcastStatus,
  PauseFigures,
  PauseReason,
  SkipReason,
} from '../../mail/broadcast.ts'
import { NO_REACH } from '../../mail/broadcast.ts'
import { contains, type Page, type PageArgs, readPage } from '../lists.ts'
import type { Db } from '../schema.ts'
import type { BroadcastsTable } from './tables.ts'
import { recordVersion, type VersionRecord } from './versions.ts'

export interface Broadcast {
  id: string
  teamId: string
  name: string
  status: BroadcastStatus
  segmentId: string
  /** Segments whose contacts are excluded. */
  exclude: string[]
  topicId: string | null
  content: BroadcastContent
  /** JSON of the document that HTML and text were compiled from; null if they were written as code. */
  document: string | null
  /** The template that the content was made from; null if there is none. */
  templateId: string | null
  /** Number of edits, incremented by each change of the draft. */
  edits: number
  createdAt: number
  updatedAt: number
  scheduledAt: number | null
  startedAt: number | null
  finishedAt: number | null
  /** ID of the frozen content; null before sending begins. */
  revisionId: string | null
  /** Numbers of contacts that became recipients, of recipients that were queued, and of those that were skipped. */
  expanded: number
  enqueued: number
  skipped: Partial<Record<SkipReason, number>>
  /** When all contacts of the segment had become recipients; null if that hasn't happened yet. */
  expandedAt: number | null
  /** When and why the broadcast was paused; null if it isn't paused. */
  paused: { at: number; reason: PauseReason; figures: PauseFigures | null } | null
  /** When the broadcast was last resumed. */
  resumedAt: number | null
  /** The providers for which the broadcast was paused automatically, including those that were resumed since. */
  holds: ProviderHolds
  /** Why it failed. */
  problem: string | null
  /** When a test of the content was last sent; null if there was none since the last change. */
  testedAt: number | null
  /** Number of the broadcast's emails by last event, at the time of the last count. */
  counts: BroadcastCounts
  /** Number of recipients that opened, clicked or unsubscribed, at the time of the last count. */
  reach: BroadcastReach
  countedAt: number | null
  /** Maximum number of emails per hour; null to send as fast as the lanes allow. */
  hourlyRate: number | null
  /** When the rate allows the next email to be queued; null if it can be queued immediately. */
  nextAt: number | null
  /** When the broadcast was published in the team's archive; null if it isn't published. */
  archivedAt: number | null
}

/** Identifies a broadcast of a team. */
export interface BroadcastRef {
  teamId: string
  id: string
}

const parsed = <T>(json: string | null, none: T): T => (json === null ? none : (JSON.parse(json) as T))

const toBroadcast = (row: Selectable<BroadcastsTable>): Broadcast => ({
  id: row.id,
  teamId: row.team_id,
  name: row.name,
  status: row.status,
  segmentId: row.segment_id,
  exclude: parsed<string[]>(row.exclude, []),
  topicId: row.topic_id,
  content: JSON.parse(row.content) as BroadcastContent,
  document: row.document,
  templateId: row.template_id,
  edits: row.edits,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  scheduledAt: row.scheduled_at,
  startedAt: row.started_at,
  finishedAt: row.finished_at,
  revisionId: row.revision_id,
  expanded: row.expanded,
  enqueued: row.enqueued,
  skipped: parsed<Broadcast['skipped']>(row.skipped, {}),
  expandedAt: row.expanded_at,
  paused:
    row.paused_at === null
      ? null
      : {
          at: row.paused_at,
          reason: row.pause_reason!,
          figures: parsed<PauseFigures | null>(row.pause_figures, null),
        },
  resumedAt: row.resumed_at,
  holds: parsed<ProviderHolds>(row.holds, {}),
  problem: row.problem,
  testedAt: row.tested_at,
  counts: parsed<BroadcastCounts>(row.counts, {}),
  reach: parsed<BroadcastReach>(row.reach, NO_REACH),
  countedAt: row.counted_at,
  hourlyRate: row.hourly_rate,
  nextAt: row.next_at,
  archivedAt: row.archived_at,
})

/** Selects broadcasts to list. */
export interface BroadcastFilter {
  text?: string | undefined
  status?: BroadcastStatus | undefined
  segmentId?: string | undefined
}

/**
 * Lists broadcasts, newest first.
 * @param args text: part of the name; segmentId: the segment that the broadcast goes to
 */
async function listBroadcasts(
  db: Db,
  { text, status, segmentId, ...args }: PageArgs & BroadcastFilter,
): Promise<Page<Broadcast>> {
  let query = db.selectFrom('broadcasts').selectAll().where('team_id', '=', args.teamId)
  if (segmentId !== undefined) query = query.where('segment_id', '=', segmentId)
  if (status !== undefined) query = query.where('status', '=', status)
  if (text !== undefined) query = query.where(contains('name', text))
  return readPage(query, args, toBroadcast)
}

/** Returns a broadcast of a team. */
export async function getBroadcast(db: Db, { teamId, id }: BroadcastRef): Promise<Broadcast | undefined> {
  const row = await db
    .selectFrom('broadcasts')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row && toBroadcast(row)
}

/**
 * Lists broadcasts that have work left, oldest first: those that are scheduled, being sent, or canceled with waiting
 * recipients.
 */
async function openBroadcasts(db: Db): Promise<Broadcast[]> {
  const rows = await db
    .selectFrom('broadcasts')
    .selectAll()
    .where('status', 'in', ['scheduled', 'queued', 'canceled'])
    .where((row) => row.or([row('status', '!=', 'canceled'), row('finished_at', 'is', null)]))
    .orderBy('id')
    .execute()
  return rows.map(toBroadcast)
}

/** The fields of a draft to store. */
export type NewBroadcast = Pick<
  Broadcast,
  'id' | 'teamId' | 'name' | 'segmentId' | 'exclude' | 'topicId' | 'content' | 'document' | 'createdAt'
> &
  Partial<Pick<Broadcast, 'templateId' | 'hourlyRate' | 'archivedAt'>>

/**
 * Stores a draft.
 * @param args version: records the draft's first version; undefined to record none
 */
async function createBroadcast(
  db: Db,
  { broadcast, version }: { broadcast: NewBroadcast; version?: VersionRecord | undefined },
  now: number,
): Promise<void> {
  const { id, teamId, name, segmentId, exclude, topicId, content, document, createdAt } = broadcast
  const { templateId = null, hourlyRate = null, archivedAt = null } = broadcast
  await db
    .insertInto('broadcasts')
    .values({
      id,
      team_id: teamId,
      name,
      status: 'draft',
      segment_id: segmentId,
      exclude: JSON.stringify(exclude),
      topic_id: topicId,
      content: JSON.stringify(content),
      document,
      template_id: templateId,
      hourly_rate: hourlyRate,
      archived_at: archivedAt,
      created_at: createdAt,
      updated_at: createdAt,
    })
    .execute()
  if (version) await recordVersion(db, broadcast, version, now)
}

/** A change to a broadcast. Undefined fields are left unchanged. */
export interface BroadcastChange {
  name?: string | undefined
  segmentId?: string | undefined
  exclude?: string[] | undefined
  topicId?: string | null | undefined
  content?: Partial<BroadcastContent> | undefined
  document?: string | null | undefined
  hourlyRate?: number | null | undefined
  /** Whether it is published in the team's archive. */
  archive?: boolean | undefined
}

/** A change to a broadcast that a caller requests. */
export interface BroadcastUpdate extends BroadcastRef {
  change: BroadcastChange
  edits?: number | undefined
  version?: VersionRecord | undefined
}

/** Statuses in which the rate can be changed. */
const PACED: readonly BroadcastStatus[] = ['draft', 'scheduled', 'queued']

/** The result of a change. `stale`: someone else has changed the broadcast since it was read. */
export type BroadcastUpdateResult = 'done' | 'unknown' | 'wrong_status' | 'stale'

/**
 * Changes a broadcast. After it has started, only the name, its publication in the archive and, while it is being sent,
 * the rate can change.
 * @param args edits: number of edits when the caller read the broadcast; undefined to skip this check. version: records
 * the draft after the change as a version; undefined to record none
 */
async function updateBroadcast(
  db: Db,
  { teamId, id, change, edits, version }: BroadcastUpdate,
  now: number,
): Promise<BroadcastUpdateResult> {
  const current = await getBroadcast(db, { teamId, id })
  if (!current) return 'unknown'
  if (edits !== undefined && edits !== current.edits) return 'stale'
  const { name, segmentId, exclude, topicId, content, document, hourlyRate } = change
  if (hourlyRate !== undefined && !PACED.includes(current.status)) return 'wrong_status'
  const onlyName = [segmentId, exclude, topicId, content, document].every((value) => value === undefined)
  if (!onlyName && current.status !== 'draft' && current.status !== 'scheduled') return 'wrong_status'
  const { abTest, ...plain } = { ...current.content, ...content }
  const said = abTest ? { ...plain, abTest } : plain
  const written = JSON.stringify(said)
  const isRewritten = written !== JSON.stringify(current.content)
  await db
    .updateTable('broadcasts')
    .set({
      ...(name !== undefined && { name }),
      ...(segmentId !== undefined && { segment_id: segmentId }),
      ...(exclude !== undefined && { exclude: JSON.stringify(exclude) }),
      ...(topicId !== undefined && { topic_id: topicId }),
      ...(content !== undefined && { content: written }),
      ...(isRewritten && { tested_at: null }),
      ...(document !== undefined && { document }),
      ...(hourlyRate !== undefined && { hourly_rate: hourlyRate }),
      ...(!onlyName && { edits: current.edits + 1 }),
      updated_at: now,
    })
    .where('id', '=', id)
    .execute()
  if (change.archive !== undefined) await publish(db, current, change.archive, now)
  const draft = { id, teamId, content: said, document: document === undefined ? current.document : document }
  if (version && (isRewritten || draft.document !== current.document))
    await recordVersion(db, draft, version, now)
  return 'done'
}

/** Publishes a broadcast in the archive, or withdraws it. One that is published keeps its time. */
async function publish(db: Db, { id, archivedAt }: Broadcast, archive: boolean, now: number): Promise<void> {
  const at = archive ? (archivedAt ?? now) : null
  await db.updateTable('broadcasts').set({ archived_at: at }).where('id', '=', id).execute()
}

/** Records that a test was sent, unless the draft has changed since it was read. */
async function noteBroadcastTest(
  db: Db,
  { teamId, id, edits }: BroadcastRef & { edits: number },
  now: number,
): Promise<void> {
  await db
    .updateTable('broadcasts')
    .set({ tested_at: now })
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .where('edits', '=', edits)
    .execute()
}

/** Lists at most `most` broadcasts that started at or after `since`, newest first. */
async function startedBroadcasts(
  db: Db,
  { teamId, since, most }: { teamId: string; since: number; most: number },
): Promise<Broadcast[]> {
  const rows = await db
    .selectFrom('broadcasts')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('started_at', '>=', since)
    .orderBy('id', 'desc')
    .limit(most)
    .execute()
  return rows.map(toBroadcast)
}

/** Deletes a draft, a scheduled broadcast, or one that was canceled or failed before anything was sent. */
async function deleteBroadcast(db: Db, { teamId, id }: BroadcastRef): Promise<BroadcastUpdateResult> {
  const deleted = await db
    .deleteFrom('broadcasts')
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .where('revision_id', 'is', null)
    .executeTakeFirstOrThrow()
  if (deleted.numDeletedRows > 0n) return 'done'
  return (await getBroadcast(db, { teamId, id })) ? 'wrong_status' : 'unknown'
}

export const methods = {
  reads: { listBroadcasts, getBroadcast, openBroadcasts, startedBroadcasts },
  writes: { createBroadcast, updateBroadcast, noteBroadcastTest, deleteBroadcast },
}
