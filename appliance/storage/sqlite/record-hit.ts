import { lastEventOf } from '../../mail/event.ts'
import type { NewHit } from '../storage.ts'
import type { Connection } from './connection.ts'
import { createRecordEvent } from './record-event.ts'

/** `Storage.recordHit`. */
export function createRecordHit(db: Connection): (hit: NewHit, now: number) => void {
  const exists = db.prepare<[string, string]>('select 1 from emails where id = ? and team_id = ?')
  const recordEvent = createRecordEvent(db)
  const updateEmail = db.prepare(
    `update emails set last_event = ? where id = ?
     and last_event in ('queued', 'scheduled', 'sent', 'delivery_delayed', 'delivered', 'opened')`,
  )
  return ({ id, teamId, emailId, deliveryId, type, data }, now) => {
    // Removed since it was looked at.
    if (!exists.get(emailId, teamId)) return
    recordEvent({ id, teamId, emailId, deliveryId, type, createdAt: now, data })
    if (data.robot !== true) updateEmail.run(lastEventOf(type), emailId)
  }
}
