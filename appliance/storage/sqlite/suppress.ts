import type { EventData } from '../../mail/event.ts'
import { newId } from '../../mail/ids.ts'
import { formatReply } from '../../mail/reply.ts'
import { suppressionKey, type SuppressionOrigin } from '../../mail/suppression.ts'
import type { Cause } from '../../mail/verdict.ts'
import type { Connection } from './connection.ts'
import { createRecordEvent } from './record-event.ts'

/** An address that is dead, or whose owner complained, and how that became known. */
export interface Suppress {
  teamId: string
  /** The domain in A-labels. */
  email: string
  origin: Exclude<SuppressionOrigin, 'manual'>
  /** The email that bounced or was complained about. */
  emailId: string
  /** One sentence. */
  reason: string
  /** The reply of the server as one line; null: no server said it. */
  reply: string | null
}

/**
 * Part of `settle` and `complain`: an address goes onto the list of its team. One that is there keeps its entry, but that a complaint counts
 * more than what put it there before: who takes it off the list must know.
 */
export function createSuppress(db: Connection): (suppress: Suppress, now: number) => void {
  const insert = db.prepare<unknown[], { id: string; email: string; createdAt: number }>(
    `insert into suppressions (id, team_id, address, email, origin, source_id, created_at, reason, reply, removed_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, (select removed_at from unsuppressed where team_id = ? and address = ?))
     on conflict (team_id, address) do update
       set origin = excluded.origin, source_id = excluded.source_id, reason = excluded.reason, reply = excluded.reply
       where excluded.origin = 'complaint' and suppressions.origin <> 'complaint'
     returning id, email, created_at as createdAt`,
  )
  const recordEvent = createRecordEvent(db)
  return ({ teamId, email, origin, emailId, reason, reply }, now) => {
    const address = suppressionKey(email)
    const id = newId(now)
    const stored = insert.get(
      ...[id, teamId, address, email, origin, emailId, now, reason, reply],
      ...[teamId, address],
    )
    // An entry that only has another reason now was told of before.
    if (stored?.id !== id) return
    const data = { suppression: { ...stored, origin, sourceId: emailId } }
    const about = { emailId: null, deliveryId: null, createdAt: now }
    recordEvent({ ...about, id: newId(now), teamId, type: 'suppression.added', data })
  }
}

/** What became of one delivery. */
interface News {
  teamId: string
  emailId: string
  cause: Cause
  data: EventData
}

/** Part of `settle`: a dead address goes onto the list with the news of it, so that no email accepted after this commit is sent there. */
export function createHeedBounce(db: Connection): (news: News, now: number) => void {
  const suppress = createSuppress(db)
  return ({ teamId, emailId, cause, data }, now) => {
    if (data.bounce?.suppress !== true || data.recipient === undefined) return
    const { note: reason, reply } = cause
    const said = reply && formatReply(reply)
    suppress({ teamId, email: data.recipient, origin: 'bounce', emailId, reason, reply: said }, now)
  }
}
