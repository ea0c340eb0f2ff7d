/** Opens and clicks of emails. */
import { type EventData, lastEventOf } from '../mail/event.ts'
import { createRecordEvents } from './events.ts'
import type { Db } from './schema.ts'
import type { Connection } from './sqlite/connection.ts'

/** What is known of an email when somebody opens it or follows its links. */
export interface TrackedEmail {
  teamId: string
  /** What the domain's owner wants recorded now. */
  opens: boolean
  clicks: boolean
  /** When the first recipient's server took it (Unix milliseconds); null: none has yet. */
  deliveredAt: number | null
  /** The one delivery and its recipient; null where there are several, which one link cannot tell apart. */
  deliveryId: string | null
  recipient: string | null
}

/** An open or a click. */
export interface NewHit {
  /** Of the event. */
  id: string
  teamId: string
  emailId: string
  deliveryId: string | null
  type: 'email.opened' | 'email.clicked'
  data: EventData
}

/** Undefined when there is no such email, or its domain is gone. */
async function trackedEmail(db: Db, { emailId }: { emailId: string }): Promise<TrackedEmail | undefined> {
  const email = await db
    .selectFrom('emails as e')
    .innerJoin('domains as d', 'd.id', 'e.domain_id')
    .select(['e.team_id', 'd.open_tracking', 'd.click_tracking'])
    .where('e.id', '=', emailId)
    .executeTakeFirst()
  if (!email) return undefined
  const recipients = await db
    .selectFrom('deliveries')
    .select(['id', 'recipient', 'state', 'updated_at'])
    .where('email_id', '=', emailId)
    .execute()
  const times = recipients.filter(({ state }) => state === 'delivered').map((row) => row.updated_at)
  const only = recipients.length === 1 ? recipients[0]! : null
  return {
    teamId: email.team_id,
    opens: email.open_tracking === 1,
    clicks: email.click_tracking === 1,
    deliveredAt: times.length > 0 ? times.reduce((least, time) => Math.min(least, time)) : null,
    deliveryId: only?.id ?? null,
    recipient: only?.recipient ?? null,
  }
}

/** Records the event. A person's also becomes the email's `last_event`, unless that says more already. */
function createRecordHit(db: Connection): (hit: NewHit, now: number) => void {
  const exists = db.prepare<[string, string]>('select 1 from emails where id = ? and team_id = ?')
  const recordEvents = createRecordEvents(db)
  const updateEmail = db.prepare(
    `update emails set last_event = ? where id = ?
     and last_event in ('queued', 'scheduled', 'sent', 'delivery_delayed', 'delivered', 'opened')`,
  )
  return ({ id, teamId, emailId, deliveryId, type, data }, now) => {
    // Removed since it was looked at.
    if (!exists.get(emailId, teamId)) return
    recordEvents([{ event: { id, teamId, emailId, deliveryId, type, createdAt: now, data } }])
    if (data.robot !== true) updateEmail.run(lastEventOf(type), emailId)
  }
}

/** The methods of this noun (nouns.ts). */
export const methods = {
  reads: { trackedEmail },
  prepared: { recordHit: createRecordHit },
}
