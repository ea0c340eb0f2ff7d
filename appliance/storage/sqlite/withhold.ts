import { reportWanted } from '../../mail/dsn.ts'
import { lastEventOf } from '../../mail/event.ts'
import { newId } from '../../mail/ids.ts'
import { suppressedCause, suppressedData } from '../../mail/suppression.ts'
import { fromNotify } from '../methods/recipients.ts'
import type { NewEmail } from '../storage.ts'
import type { Connection } from './connection.ts'
import { createListed } from './listed.ts'
import { createOwe } from './owe.ts'
import { createRecordEvent } from './record-event.ts'

/** A delivery whose turn it is. */
export interface Turn {
  id: string
  team_id: string
  email_id: string
  domain_id: string
  pool: string
  provider: string
  attempts: number
  recipient: string
  via: NewEmail['via']
  report_to: string | null
  notify: string | null
}

/**
 * Part of `lease`: ends a delivery whose address came onto the list while it waited, before anybody is dialled. False where it did not. Reports
 * of ours go out all the same: their reader asked for them.
 */
export function createWithhold(db: Connection): (turn: Turn, now: number) => boolean {
  const listed = createListed(db)
  const finish = db.prepare('delete from deliveries where id = ?')
  const updateRecipient = db.prepare(
    `update recipients set state = 'suppressed', attempts = ?, cause = ?, pool = ?, provider = ?, updated_at = ? where id = ?`,
  )
  // As in `put`: what goes to others still is not done.
  const updateEmail = db.prepare(
    'update emails set last_event = ? where id = ? and not exists (select 1 from deliveries where email_id = emails.id)',
  )
  const recordEvent = createRecordEvent(db)
  const owe = createOwe(db)

  return (turn, now) => {
    if (turn.via === 'report') return false
    const { id, team_id: teamId, email_id: emailId, domain_id: domainId, provider, recipient } = turn
    const origin = listed(teamId, recipient)
    if (origin === undefined) return false
    const cause = suppressedCause({ origin })
    finish.run(id)
    updateRecipient.run(turn.attempts, JSON.stringify(cause), turn.pool, provider, now, id)
    const type = 'email.suppressed'
    const data = { recipient, cause, suppressed: suppressedData(cause) }
    const about = { id: newId(now), teamId, emailId, deliveryId: id, createdAt: now }
    recordEvent({ ...about, type, data }, { domainId, provider })
    updateEmail.run(lastEventOf(type), emailId)
    if (turn.report_to !== null && reportWanted(fromNotify(turn.notify), 'failed'))
      owe({ deliveryId: id, kind: 'failed', teamId, emailId }, now)
    return true
  }
}
