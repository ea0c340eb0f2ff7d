/** Settling: what becomes of leased deliveries, and the end of leases. */
import type { Db } from '../schema.ts'
import type { ReportKind } from '../../mail/dsn.ts'
import { type EmailEventType, type EventData, lastEventOf } from '../../mail/event.ts'
import type { Cause, DeliveryState } from '../../mail/verdict.ts'
import type { Attempt } from '../emails.ts'
import { createRecordEvent } from '../events.ts'
import { createOwe } from '../reports.ts'
import type { Connection } from '../sqlite/connection.ts'
import { createComplain, createHeedBounce } from '../suppressions.ts'
import { writeTranscript } from '../transcripts.ts'

/** What becomes of one leased delivery. */
export interface Change {
  deliveryId: string
  state: DeliveryState
  /** The next time, for `waiting`; ignored otherwise. */
  dueAt: number | null
  cause: Cause
  event: { id: string; type: EmailEventType; data: EventData } | null
  /** Of a delivered one whose recipient complains at once, as a test address does: who told us, in a sentence. */
  complaint?: string
  /** A report that is due from now on; one that was due before is not due again. */
  report: ReportKind | null
}

export interface SettleArgs {
  owner: string
  attempt: Attempt | null
  changes: Change[]
}

/**
 * Gives back leased deliveries as if never taken, the attempt uncounted: due at `dueAt`, or at once. For a clean stop, and
 * for a lane that has no room after all.
 * What `lease` recorded of the email stays: it was tried, or was about to be.
 */
async function unlease(
  db: Db,
  args: { owner: string; deliveryIds: string[]; dueAt?: number | undefined },
  now: number,
): Promise<void> {
  for (const id of args.deliveryIds) {
    await db
      .updateTable('deliveries')
      .set((set) => ({
        lease_owner: null,
        lease_until: null,
        due_at: args.dueAt ?? now,
        attempts: set('attempts', '-', 1),
      }))
      .where('id', '=', id)
      .where('lease_owner', '=', args.owner)
      .execute()
  }
}

/** Everybody who holds a lease. */
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
 * Voids the leases of owners that are gone. The deliveries get the cause and wait for the time that `lease` wrote, those that were tried once
 * for `firstDueAt` if that is sooner. Returns how many.
 */
async function voidLeases(
  db: Db,
  { owners, cause, firstDueAt }: { owners: string[]; cause: Cause; firstDueAt: number },
): Promise<number> {
  const leased = db.selectFrom('deliveries').select('id').where('lease_owner', 'in', owners)
  await db
    .updateTable('recipients')
    .set({ cause: JSON.stringify(cause) })
    .where('id', 'in', leased)
    .execute()
  await db
    .updateTable('deliveries')
    .set({ due_at: firstDueAt })
    .where('lease_owner', 'in', owners)
    .where('attempts', '=', 1)
    .where('due_at', '>', firstDueAt)
    .execute()
  const updated = await db
    .updateTable('deliveries')
    .set({ lease_owner: null, lease_until: null })
    .where('lease_owner', 'in', owners)
    .executeTakeFirstOrThrow()
  return Number(updated.numUpdatedRows)
}

interface Owned {
  team_id: string
  email_id: string
  attempts: number
  pool: string
  provider: string
}

/**
 * Ends leases; changes of deliveries that the owner no longer leases are not made and their ids returned.
 * hot: plain statements, prepared once.
 */
function createSettle(db: Connection): (args: SettleArgs, now: number) => { lost: string[] } {
  const finish = db.prepare<[string, string], Owned>(
    'delete from deliveries where id = ? and lease_owner = ? returning team_id, email_id, attempts, pool, provider',
  )
  // Without a time the one that the lease wrote stays; a hold that came meanwhile stays too.
  const wait = db.prepare<[number | null, number, string, string], Owned>(
    `update deliveries set due_at = coalesce(?, due_at), held = max(held, ?), lease_owner = null, lease_until = null
     where id = ? and lease_owner = ? returning team_id, email_id, attempts, pool, provider`,
  )
  const updateRecipient = db.prepare(
    'update recipients set state = ?, attempts = ?, cause = ?, pool = ?, provider = ?, updated_at = ? where id = ?',
  )
  const insertAttempt = db.prepare(
    `insert into attempts (id, team_id, email_id, delivery_ids, started_at, ended_at, transcript)
     values (?, ?, ?, ?, ?, ?, ?) on conflict (id) do nothing`,
  )
  const recordEvent = createRecordEvent(db)
  const owe = createOwe(db)
  const heedBounce = createHeedBounce(db)
  const complain = createComplain(db)
  const updateEmail = db
    .prepare<[string, string], string>('update emails set last_event = ? where id = ? returning domain_id')
    .pluck()

  const end = (change: Change, owner: string): Owned | undefined => {
    const { deliveryId, state, dueAt } = change
    if (state === 'waiting' || state === 'held') {
      return wait.get(dueAt, state === 'held' ? 1 : 0, deliveryId, owner)
    }
    return finish.get(deliveryId, owner)
  }

  /** False when the owner no longer leases the delivery. */
  const apply = (change: Change, owner: string, now: number): boolean => {
    const { deliveryId, state, cause, event, report, complaint } = change
    const owned = end(change, owner)
    if (!owned) return false
    // Whether a waiting delivery is held, `deliveries` alone tells.
    const stored = state === 'held' ? 'waiting' : state
    const { attempts, pool, provider } = owned
    updateRecipient.run(stored, attempts, JSON.stringify(cause), pool, provider, now, deliveryId)
    if (event) {
      const { id, type, data } = event
      const { team_id: teamId, email_id: emailId } = owned
      const domainId = updateEmail.get(lastEventOf(type), emailId) ?? ''
      recordEvent({ id, teamId, emailId, deliveryId, type, createdAt: now, data }, { domainId, provider })
      heedBounce({ teamId, emailId, cause, data }, now)
    }
    if (complaint !== undefined)
      complain({ teamId: owned.team_id, deliveryId, reason: complaint, suppress: false }, now)
    if (report) owe({ deliveryId, kind: report, teamId: owned.team_id, emailId: owned.email_id }, now)
    return true
  }

  return ({ owner, attempt, changes }, now) => {
    if (attempt) {
      const { id, teamId, emailId, deliveryIds, startedAt, endedAt, transcript } = attempt
      const said = writeTranscript(transcript)
      insertAttempt.run(id, teamId, emailId, JSON.stringify(deliveryIds), startedAt, endedAt, said)
    }
    const lost = changes.filter((change) => !apply(change, owner, now))
    return { lost: lost.map((change) => change.deliveryId) }
  }
}

/** The methods of this noun (nouns.ts). */
export const methods = {
  reads: { leaseOwners },
  writes: { unlease, voidLeases },
  prepared: { settle: createSettle },
}
