/** The states of broadcasts: scheduled, started, paused, canceled and ended; and the frozen content of started ones. */
import type { ProviderHolds } from '../../mail/automatic-pause.ts'
import type { BroadcastStatus, PauseFigures, PauseReason } from '../../mail/broadcast.ts'
import type { Db } from '../schema.ts'
import { startAbTest } from './ab-tests.ts'
import { type BroadcastUpdateResult, type BroadcastRef, getBroadcast } from './broadcasts.ts'

/** Schedules a draft, or reschedules a scheduled broadcast, which also ends a pause. */
async function scheduleBroadcast(
  db: Db,
  { teamId, id, at }: BroadcastRef & { at: number },
  now: number,
): Promise<BroadcastUpdateResult> {
  const changed = await db
    .updateTable('broadcasts')
    .set({ status: 'scheduled', scheduled_at: at, ...going, updated_at: now })
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .where('status', 'in', ['draft', 'scheduled'])
    .executeTakeFirstOrThrow()
  return answer(db, { teamId, id }, changed.numUpdatedRows)
}

const going = { paused_at: null, pause_reason: null, pause_figures: null }

async function answer(db: Db, ref: BroadcastRef, changed: bigint): Promise<BroadcastUpdateResult> {
  if (changed > 0n) return 'done'
  return (await getBroadcast(db, ref)) ? 'wrong_status' : 'unknown'
}

/** What an email says, as JSON. */
interface StoredRevision {
  id: string
  content: string
}

/**
 * Starts a draft or a scheduled broadcast: freezes its content, and lets contacts become recipients from now on.
 * `stale`: the draft changed after the revision was made.
 * @param args variants: the other revisions of an A/B test
 */
async function startBroadcast(
  db: Db,
  {
    teamId,
    id,
    edits,
    revision,
    variants = [],
  }: BroadcastRef & { edits: number; revision: StoredRevision; variants?: StoredRevision[] },
  now: number,
): Promise<BroadcastUpdateResult> {
  const current = await getBroadcast(db, { teamId, id })
  if (!current) return 'unknown'
  if (current.status !== 'draft' && current.status !== 'scheduled') return 'wrong_status'
  if (current.edits !== edits) return 'stale'
  const revisions = [revision, ...variants]
  await db
    .insertInto('broadcast_revisions')
    .values(
      revisions.map((one) => ({
        id: one.id,
        broadcast_id: id,
        team_id: teamId,
        content: one.content,
        created_at: now,
      })),
    )
    .execute()
  if (variants.length > 0)
    await startAbTest(db, { broadcastId: id, revisions: revisions.map((one) => one.id) })
  await db
    .updateTable('broadcasts')
    .set({ status: 'queued', started_at: now, revision_id: revision.id, ...going, updated_at: now })
    .where('id', '=', id)
    .execute()
  return 'done'
}

/**
 * Cancels a broadcast. A scheduled one becomes a draft again; one that is being sent stops permanently. Returns which
 * of these happened.
 */
async function cancelBroadcast(
  db: Db,
  { teamId, id }: BroadcastRef,
  now: number,
): Promise<'draft' | 'canceled' | 'unknown' | 'wrong_status'> {
  const current = await getBroadcast(db, { teamId, id })
  if (!current) return 'unknown'
  if (current.status !== 'scheduled' && current.status !== 'queued') return 'wrong_status'
  const status = current.status === 'scheduled' ? 'draft' : 'canceled'
  await db
    .updateTable('broadcasts')
    .set({ status, ...going, ...(status === 'draft' && { scheduled_at: null }), updated_at: now })
    .where('id', '=', id)
    .execute()
  return status
}

/**
 * Pauses a broadcast that is being sent or scheduled, until someone resumes it. A broadcast that is already paused
 * keeps its reason.
 */
async function pauseBroadcast(
  db: Db,
  { teamId, id, reason, figures }: BroadcastRef & { reason: PauseReason; figures: PauseFigures | null },
  now: number,
): Promise<BroadcastUpdateResult> {
  const paused = await db
    .updateTable('broadcasts')
    .set({
      paused_at: now,
      pause_reason: reason,
      pause_figures: figures && JSON.stringify(figures),
      updated_at: now,
    })
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .where('status', 'in', ['scheduled', 'queued'])
    .where('paused_at', 'is', null)
    .executeTakeFirstOrThrow()
  return answer(db, { teamId, id }, paused.numUpdatedRows)
}

/** Resumes a paused broadcast. Call `releaseParked` to queue its parked mail again. */
async function resumeBroadcast(
  db: Db,
  { teamId, id }: BroadcastRef,
  now: number,
): Promise<BroadcastUpdateResult> {
  const resumed = await db
    .updateTable('broadcasts')
    .set({ ...going, resumed_at: now, updated_at: now })
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .where('paused_at', 'is not', null)
    .executeTakeFirstOrThrow()
  return answer(db, { teamId, id }, resumed.numUpdatedRows)
}

/** Pauses a broadcast in progress for some providers. Those for which it is already paused keep their figures. */
async function holdProviders(
  db: Db,
  { teamId, id, held }: BroadcastRef & { held: Readonly<Record<string, PauseFigures>> },
  now: number,
): Promise<BroadcastUpdateResult> {
  const current = await getBroadcast(db, { teamId, id })
  if (!current) return 'unknown'
  if (current.status !== 'queued') return 'wrong_status'
  const holds: Record<string, ProviderHolds[string]> = { ...current.holds }
  for (const [provider, figures] of Object.entries(held)) {
    const before = holds[provider]
    if ((before?.heldAt ?? null) === null)
      holds[provider] = { heldAt: now, figures, resumedAt: before?.resumedAt ?? null }
  }
  await saveHolds(db, id, holds, now)
  return 'done'
}

/**
 * Resumes a broadcast for a provider. Call `releaseParked` to queue its parked mail again. `wrong_status`: it isn't
 * paused for this provider.
 */
async function resumeProvider(
  db: Db,
  { teamId, id, provider }: BroadcastRef & { provider: string },
  now: number,
): Promise<BroadcastUpdateResult> {
  const current = await getBroadcast(db, { teamId, id })
  if (!current) return 'unknown'
  const hold = Object.hasOwn(current.holds, provider) ? current.holds[provider] : undefined
  if ((hold?.heldAt ?? null) === null || current.status !== 'queued') return 'wrong_status'
  const resumed = { ...hold!, heldAt: null, resumedAt: now }
  await saveHolds(db, id, { ...current.holds, [provider]: resumed }, now)
  return 'done'
}

async function saveHolds(db: Db, id: string, holds: ProviderHolds, now: number): Promise<void> {
  await db
    .updateTable('broadcasts')
    .set({ holds: JSON.stringify(holds), updated_at: now })
    .where('id', '=', id)
    .execute()
}

/**
 * Records that a started broadcast has ended, or that a broadcast couldn't start. Does nothing if its state has
 * changed.
 */
async function endBroadcast(
  db: Db,
  {
    id,
    was,
    status,
    problem,
  }: { id: string; was: BroadcastStatus; status: BroadcastStatus; problem: string | null },
  now: number,
): Promise<boolean> {
  const ended = await db
    .updateTable('broadcasts')
    .set({ status, problem, finished_at: now, updated_at: now })
    .where('id', '=', id)
    .where('status', '=', was)
    .executeTakeFirstOrThrow()
  return ended.numUpdatedRows > 0n
}

/** Counts the emails that a process has leased. They are in flight or wait for a connection. */
async function broadcastInFlight(db: Db, { id }: { id: string }, now: number): Promise<number> {
  const row = await db
    .selectFrom('deliveries as d')
    .innerJoin('emails as e', 'e.id', 'd.email_id')
    .select((one) => one.fn.countAll<number>().as('n'))
    .where('d.lease_owner', 'is not', null)
    .where('d.lease_until', '>', now)
    .where('e.broadcast_id', '=', id)
    .executeTakeFirstOrThrow()
  return Number(row.n)
}

/** Returns the revision as JSON; undefined if its broadcast was deleted. */
async function getRevision(db: Db, { id }: { id: string }): Promise<string | undefined> {
  const row = await db
    .selectFrom('broadcast_revisions')
    .select('content')
    .where('id', '=', id)
    .executeTakeFirst()
  return row?.content
}

export const methods = {
  reads: { getRevision, broadcastInFlight },
  writes: {
    scheduleBroadcast,
    startBroadcast,
    cancelBroadcast,
    pauseBroadcast,
    resumeBroadcast,
    holdProviders,
    resumeProvider,
    endBroadcast,
  },
}
