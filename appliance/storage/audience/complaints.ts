/** Applies spam reports to subscriptions, because the person doesn't want any more marketing mail. */
import type { ConsentContext } from '../../mail/audience.ts'
import type { Db } from '../schema.ts'
import { getContact } from './contact-rows.ts'
import { savePreferences } from './preferences.ts'

/** A delivery that was reported as spam. */
export interface ReportedDelivery {
  teamId: string
  emailId: string
  deliveryId: string
}

/**
 * Part of `settleReturned`: if a recipient reported an email of a broadcast, topic or automation as spam, opts the
 * recipient out of everything. The opt-out stays when the address is removed from the suppression list. Reports of
 * other emails don't change subscriptions.
 */
export async function applyComplaint(db: Db, reported: ReportedDelivery, now: number): Promise<void> {
  const { teamId, emailId, deliveryId } = reported
  const email = await db
    .selectFrom('emails as e')
    .innerJoin('deliveries as d', 'd.email_id', 'e.id')
    .select(['d.recipient as address', 'e.contact_id as contactId', 'e.topic_id', 'e.broadcast_id'])
    .where('e.id', '=', emailId)
    .where('d.id', '=', deliveryId)
    .executeTakeFirstOrThrow()
  const { address, contactId, topic_id: topicId, broadcast_id: broadcastId } = email
  const isMarketing =
    topicId !== null || broadcastId !== null || (await isOfAutomation(db, { teamId, emailId, address }))
  if (!isMarketing) return
  const from = { ip: null, userAgent: null, wording: null }
  const act: ConsentContext = { origin: 'complaint', via: 'report', source: emailId, ...from, lifts: false }
  const change = { unsubscribed: true, topics: [] }
  await savePreferences(db, { teamId, contactId, address, change, act }, now)
}

/** Whether an automation sent the email to the contact with this address. */
async function isOfAutomation(
  db: Db,
  { teamId, emailId, address }: { teamId: string; emailId: string; address: string },
): Promise<boolean> {
  const contact = await getContact(db, { teamId, ref: { email: address } })
  if (!contact) return false
  const step = await db
    .selectFrom('automation_runs as r')
    .innerJoin('automation_run_steps as s', 's.run_id', 'r.id')
    .select('s.key')
    .where('r.team_id', '=', teamId)
    .where('r.contact_id', '=', contact.id)
    .where('s.type', '=', 'send_email')
    .where('s.output', 'like', `%"email_id":"${emailId}"%`)
    .executeTakeFirst()
  return step !== undefined
}
