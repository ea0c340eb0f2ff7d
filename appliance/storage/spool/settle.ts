/** Settles leased deliveries: stores the results of attempts and ends leases. */
import { type Expression, sql, type SqlBool } from 'kysely'
import type { Db } from '../schema.ts'
import type { ReportKind } from '../../mail/dsn.ts'
import { type EmailEventType, type EventData, lastEventOf } from '../../mail/event.ts'
import type { Cause, DeliveryState } from '../../mail/verdict.ts'
import { ENDED, queued, writeTranscript } from '../deliveries.ts'
import type { Attempt } from '../emails.ts'
import { createRecordEvents } from '../events.ts'
import { createOwe } from '../reports.ts'
import type { Connection } from '../connection.ts'
import { createComplain, createHeedBounce } from '../suppressions.ts'

/** The result of one leased delivery. */
export interface Change {
  deliveryId: string
  state: DeliveryState
  /** The next attempt, for `waiting`; otherwise ignored. */
  dueAt: number | null
  cause: Cause
  event: { id: string; type: EmailEventType; data: EventData } | null
  /** For a delivery whose recipient complains at once, as a test address does: one sentence on who reported it. */
  complaint?: string
  /** A report to mark as due, unless it was due before. */
  report: ReportKind | null
}

export interface SettleArgs {
  owner: string
  attempt: Attempt | null
  changes: Change[]
}

/** Deliveries per statement of `unlease`, because parameters are limited. */
const ROUND = 1000

/**
 * Gives back leased deliveries as if never taken, without counting the attempt. They are due at `dueAt` or at once.
 * Used for a clean stop, and if a lane has no capacity after all. An email without any attempt is `queued` again, but
 * its event `email.sent` stays.
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
      .where(queued)
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
      db.selectFrom('deliveries').select('email_id').where('id', 'in', deliveryIds).where(queued),
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

/** Lists the ids of an owner's deliveries by the end of their lease (Unix milliseconds). */
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
 * Voids the leases of dead owners. The deliveries get the cause and wait for the time that `lease` wrote. Those with
 * one attempt wait until `firstDueAt` if that is sooner. Returns their number.
 */
async function voidLeases(
  db: Db,
  { owners, cause, firstDueAt }: { owners: string[]; cause: Cause; firstDueAt: number },
): Promise<number> {
  if (owners.length === 0) return 0
  return voidLeasesWhere(
    db,
    sql<SqlBool>`lease_owner in (${sql.join(owners)})`,
    JSON.stringify(cause),
    firstDueAt,
  )
}

/** Voids the leases of some owners; see `voidLeases`. Returns the number of deliveries. */
export async function voidLeasesWhere(
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
}

/** Part of `settle`: stores the result of a delivery if the owner still leases it. */
function createEnd(db: Connection): (change: Change, owner: string, now: number) => Owned | undefined {
  const owned =
    'where id = ? and expires_at is not null and lease_owner = ? returning team_id, email_id, provider'
  const finish = db.prepare<unknown[], Owned>(
    `update deliveries set state = ?, cause = ?, updated_at = ?, ${ENDED} ${owned}`,
  )
  // Without a time, keep the one that the lease wrote. Also keep a hold that was set meanwhile.
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
 * Ends leases. Skips deliveries that the owner no longer leases and returns their ids. Hot: plain statements, prepared
 * once.
 */
function createSettle(db: Connection): (args: SettleArgs, now: number) => { lost: string[] } {
  const end = createEnd(db)
  const insertAttempt = db.prepare(
    `insert into attempts (id, team_id, email_id, delivery_ids, started_at, ended_at, transcript)
     values (?, ?, ?, ?, ?, ?, ?) on conflict (id) do nothing`,
  )
  const recordEvents = createRecordEvents(db)
  const owe = createOwe(db)
  const heedBounce = createHeedBounce(db)
  const complain = createComplain(db)
  const updateEmail = db.prepare<[string, string], { domainId: string; broadcastId: string | null }>(
    'update emails set last_event = ? where id = ? returning domain_id as "domainId", broadcast_id as "broadcastId"',
  )

  /** Records the events. The last event of an email becomes its `last_event`. */
  const tell = (settled: readonly Settled[], now: number): void => {
    const told = settled.flatMap(({ change: { deliveryId, event }, owned }) =>
      event
        ? [{ ...event, deliveryId, emailId: owned.email_id, teamId: owned.team_id, provider: owned.provider }]
        : [],
    )
    const words = new Map(told.map(({ emailId, type }) => [emailId, lastEventOf(type)]))
    const emails = new Map([...words].map(([id, word]) => [id, updateEmail.get(word, id)]))
    recordEvents(
      told.map(({ provider, ...event }) => ({
        event: { ...event, createdAt: now },
        under: { domainId: '', broadcastId: null, ...emails.get(event.emailId), provider },
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
      const said = writeTranscript(transcript)
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
  change: Change
  owned: Owned
}

export const methods = {
  reads: { leaseOwners, leasedUntil },
  writes: { unlease, voidLeases },
  prepared: { settle: createSettle },
}
