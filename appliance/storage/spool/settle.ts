/** Settles leased deliveries: stores the results of attempts and ends leases. */
import { type Expression, sql, type SqlBool } from 'kysely'
import type { Db } from '../schema.ts'
import type { ReportKind } from '../../mail/dsn.ts'
import { type EmailEventType, type EventData, toLastEvent } from '../../mail/event.ts'
import type { Cause, DeliveryState } from '../../mail/verdict.ts'
import { FINAL_QUEUE_COLUMNS_SQL, isQueued, serializeTranscript } from '../deliveries.ts'
import type { Attempt } from '../emails.ts'
import { createEventRecorder } from '../events.ts'
import { createDueReportRecorder } from '../reports.ts'
import type { Connection } from '../connection.ts'
import { createComplaintRecorder, createBounceSuppressor } from '../suppressions.ts'

/** The result of one leased delivery. */
export interface DeliveryChange {
  deliveryId: string
  state: DeliveryState
  /** When the next attempt is due, for the state `waiting`; otherwise ignored. */
  dueAt: number | null
  cause: Cause
  event: { id: string; type: EmailEventType; data: EventData } | null
  /**
   * For a delivery whose recipient complains immediately, as a test address does: a sentence that says who reported it.
   */
  complaint?: string
  /** A report to mark as due, unless it was due before. */
  report: ReportKind | null
}

export interface SettleArgs {
  owner: string
  attempt: Attempt | null
  changes: DeliveryChange[]
}

/** Number of deliveries per statement of `unlease`, because the number of parameters is limited. */
const ROUND = 1000

/**
 * Returns leased deliveries to the queue without counting the attempt. They are due at `dueAt`, or immediately. Used
 * for a clean stop, and if a lane has no capacity after all. An email without any attempt is `queued` again, but its
 * event `email.sent` stays.
 */
async function unlease(
  db: Db,
  args: { owner: string; deliveryIds: string[]; dueAt?: number | undefined },
  now: number,
): Promise<void> {
  for (let at = 0; at < args.deliveryIds.length; at += ROUND) {
    const round = args.deliveryIds.slice(at, at + ROUND)
    await db
      .updateTable('deliveries')
      .set((set) => ({
        lease_owner: null,
        lease_until: null,
        due_at: args.dueAt ?? now,
        attempts: set('attempts', '-', 1),
      }))
      .where('id', 'in', round)
      .where(isQueued)
      .where('lease_owner', '=', args.owner)
      .execute()
    await requeue(db, round)
  }
}

/** Part of `unlease`: sets the emails of these deliveries to `queued` if none of their recipients had an attempt. */
async function requeue(db: Db, deliveryIds: string[]): Promise<void> {
  await db
    .updateTable('emails')
    .set({ last_event: 'queued' })
    .where('last_event', '=', 'sent')
    .where(
      'id',
      'in',
      db.selectFrom('deliveries').select('email_id').where('id', 'in', deliveryIds).where(isQueued),
    )
    .where((row) =>
      row.not(
        row.exists(
          row
            .selectFrom('deliveries as d')
            .select('d.id')
            .whereRef('d.email_id', '=', 'emails.id')
            .where('d.attempts', '>', 0),
        ),
      ),
    )
    .execute()
}

/** Lists the IDs of an owner's leased deliveries by the end of their lease (Unix milliseconds). */
async function leasedUntil(
  db: Db,
  { owner, leaseUntil }: { owner: string; leaseUntil: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('deliveries')
    .select('id')
    .where('lease_owner', '=', owner)
    .where('lease_until', '=', leaseUntil)
    .execute()
  return rows.map(({ id }) => id)
}

/** Lists all owners of leases. */
async function leaseOwners(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('deliveries')
    .select('lease_owner')
    .distinct()
    .where('lease_owner', 'is not', null)
    .execute()
  return rows.map((row) => row.lease_owner!)
}

/**
 * Ends the leases of owners that no longer run. The deliveries get the cause and wait until the time that `lease` set.
 * Those with one attempt wait until `firstDueAt` if that is sooner. Returns their number.
 */
async function voidLeases(
  db: Db,
  { owners, cause, firstDueAt }: { owners: string[]; cause: Cause; firstDueAt: number },
): Promise<number> {
  if (owners.length === 0) return 0
  return voidMatchingLeases(
    db,
    sql<SqlBool>`lease_owner in (${sql.join(owners)})`,
    JSON.stringify(cause),
    firstDueAt,
  )
}

/** Ends the leases that match `owned`; see `voidLeases`. Returns the number of deliveries. */
export async function voidMatchingLeases(
  db: Db,
  owned: Expression<SqlBool>,
  cause: string,
  firstDueAt: number,
): Promise<number> {
  await db
    .updateTable('deliveries')
    .set({ due_at: firstDueAt })
    .where(owned)
    .where('attempts', '=', 1)
    .where('due_at', '>', firstDueAt)
    .execute()
  const updated = await db
    .updateTable('deliveries')
    .set({ cause, lease_owner: null, lease_until: null })
    .where(owned)
    .executeTakeFirstOrThrow()
  return Number(updated.numUpdatedRows)
}

interface Owned {
  team_id: string
  email_id: string
  provider: string
  domain_id: string | null
  broadcast_id: string | null
}

/** Part of `settle`: stores the result of a delivery if the owner still leases it. */
function createEnd(
  db: Connection,
): (change: DeliveryChange, owner: string, now: number) => Owned | undefined {
  const owned = `where id = ? and expires_at is not null and lease_owner = ? returning team_id, email_id, provider,
     (select domain_id from emails where emails.id = deliveries.email_id) as domain_id,
     (select broadcast_id from emails where emails.id = deliveries.email_id) as broadcast_id`
  const finish = db.prepare<unknown[], Owned>(
    `update deliveries set state = ?, cause = ?, updated_at = ?, ${FINAL_QUEUE_COLUMNS_SQL} ${owned}`,
  )
  // Without a time, keep the one that the lease set. Also keep a hold that was set meanwhile.
  const wait = db.prepare<unknown[], Owned>(
    `update deliveries set state = case state when 'held' then state else ? end, cause = ?, updated_at = ?,
       due_at = coalesce(?, due_at), lease_owner = null, lease_until = null ${owned}`,
  )

  return (change, owner, now) => {
    const { deliveryId, state, dueAt } = change
    const cause = JSON.stringify(change.cause)
    if (state !== 'waiting' && state !== 'held') return finish.get(state, cause, now, deliveryId, owner)
    return wait.get(state, cause, now, dueAt, deliveryId, owner)
  }
}

/**
 * Ends leases. Skips deliveries that the owner no longer leases, and returns their IDs. Performance-critical: uses
 * plain statements, prepared once.
 */
function createSettle(db: Connection): (args: SettleArgs, now: number) => { lost: string[] } {
  const end = createEnd(db)
  const insertAttempt = db.prepare(
    `insert into attempts (id, team_id, email_id, delivery_ids, started_at, ended_at, transcript)
     values (?, ?, ?, ?, ?, ?, ?) on conflict (id) do nothing`,
  )
  const recordEvents = createEventRecorder(db)
  const owe = createDueReportRecorder(db)
  const heedBounce = createBounceSuppressor(db)
  const complain = createComplaintRecorder(db)
  const updateEmail = db.prepare('update emails set last_event = ? where id = ?')

  /** Records the events. The last event of an email becomes its `last_event`. */
  const tell = (settled: readonly Settled[], now: number): void => {
    const told = settled.flatMap(({ change: { deliveryId, event }, owned }) =>
      event ? [{ deliveryId, event, owned }] : [],
    )
    const words = new Map(told.map(({ event, owned }) => [owned.email_id, toLastEvent(event.type)]))
    for (const [id, word] of words) updateEmail.run(word, id)
    recordEvents(
      told.map(({ deliveryId, event, owned }) => ({
        event: { ...event, deliveryId, emailId: owned.email_id, teamId: owned.team_id, createdAt: now },
        under: { domainId: owned.domain_id ?? '', broadcastId: owned.broadcast_id, provider: owned.provider },
      })),
    )
  }

  /** Applies the other effects of a change. */
  const follow = ({ change, owned }: Settled, now: number): void => {
    const { deliveryId, cause, event, report, complaint } = change
    const about = { teamId: owned.team_id, emailId: owned.email_id }
    if (event) heedBounce({ ...about, cause, data: event.data }, now)
    if (complaint !== undefined) complain({ ...about, deliveryId, reason: complaint, suppress: false }, now)
    if (report) owe({ ...about, deliveryId, kind: report }, now)
  }

  return ({ owner, attempt, changes }, now) => {
    if (attempt) {
      const { id, teamId, emailId, deliveryIds, startedAt, endedAt, transcript } = attempt
      const said = serializeTranscript(transcript)
      insertAttempt.run(id, teamId, emailId, JSON.stringify(deliveryIds), startedAt, endedAt, said)
    }
    const settled: Settled[] = []
    const lost: string[] = []
    for (const change of changes) {
      const owned = end(change, owner, now)
      if (owned) settled.push({ change, owned })
      else lost.push(change.deliveryId)
    }
    tell(settled, now)
    for (const one of settled) follow(one, now)
    return { lost }
  }
}

/** A change that was stored. */
interface Settled {
  change: DeliveryChange
  owned: Owned
}

export const methods = {
  reads: { leaseOwners, leasedUntil },
  writes: { unlease, voidLeases },
  prepared: { settle: createSettle },
}
