import { lastEventOf } from '../../mail/event.ts'
import type { Change, SettleArgs } from '../storage.ts'
import { createComplain } from './complain.ts'
import type { Connection } from './connection.ts'
import { createOwe } from './owe.ts'
import { createRecordEvent } from './record-event.ts'
import { createHeedBounce } from './suppress.ts'

interface Owned {
  team_id: string
  email_id: string
  attempts: number
  pool: string
  provider: string
}

/** `Storage.settle`, hot: plain statements, prepared once. */
export function createSettle(db: Connection): (args: SettleArgs, now: number) => { lost: string[] } {
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
      const said = JSON.stringify(transcript)
      insertAttempt.run(id, teamId, emailId, JSON.stringify(deliveryIds), startedAt, endedAt, said)
    }
    const lost = changes.filter((change) => !apply(change, owner, now))
    return { lost: lost.map((change) => change.deliveryId) }
  }
}
