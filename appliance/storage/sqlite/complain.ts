import { lastEventOf, type EventData } from '../../mail/event.ts'
import { newId } from '../../mail/ids.ts'
import type { Complaint } from '../storage.ts'
import type { Connection } from './connection.ts'
import { createRecordEvent } from './record-event.ts'
import { createSuppress } from './suppress.ts'

interface Known {
  email_id: string
  recipient: string
}

/** `Storage.complain`, and part of `settle`. */
export function createComplain(
  db: Connection,
): (complaint: Complaint, now: number) => 'recorded' | 'known' | 'unknown' {
  const find = db.prepare<[string, string], Known>(
    'select email_id, recipient from recipients where id = ? and team_id = ?',
  )
  const before = db.prepare<[string, string]>(
    `select 1 from events where email_id = ? and delivery_id = ? and type = 'email.complained'`,
  )
  const recordEvent = createRecordEvent(db)
  const updateEmail = db.prepare('update emails set last_event = ? where id = ?')
  const suppress = createSuppress(db)

  return ({ teamId, deliveryId, reason, suppress: listed }, now) => {
    const known = find.get(deliveryId, teamId)
    if (!known) return 'unknown'
    const { email_id: emailId, recipient } = known
    // Providers repeat their reports.
    if (before.get(emailId, deliveryId)) return 'known'
    const type = 'email.complained'
    const data: EventData = { recipient, complaint: { source: reason } }
    recordEvent({ id: newId(now), teamId, emailId, deliveryId, type, createdAt: now, data })
    updateEmail.run(lastEventOf(type), emailId)
    if (listed) suppress({ teamId, email: recipient, origin: 'complaint', emailId, reason, reply: null }, now)
    return 'recorded'
  }
}
