/** All recipients of a broadcast with their outcomes, for exports. */
import type { SkipReason } from '../../mail/broadcast.ts'
import type { LastEvent } from '../../mail/event.ts'
import type { Db } from '../schema.ts'
import type { BroadcastRef } from './broadcasts.ts'
import { getBounces } from './results.ts'

/** A recipient, including one that wasn't sent anything. */
export interface RecipientRow {
  contactId: string
  /** The address; null if nothing was sent and the contact was deleted. */
  email: string | null
  /** ID of the email; null if it isn't queued yet or was skipped. */
  emailId: string | null
  lastEvent: LastEvent | null
  /** Why the recipient was skipped; null if it wasn't. */
  skipped: SkipReason | null
  /** Time of the first attempt (Unix milliseconds). */
  sentAt: number | null
  opens: number
  clicks: number
  unsubscribed: boolean
  /**
   * Index of the variant that was sent, in an A/B test or after it; null if there was no test, or nothing was sent yet.
   */
  variant: number | null
  /** The type of bounce; null if the email didn't bounce. */
  bounceType: 'Permanent' | 'Transient' | 'Undetermined' | null
}

/**
 * Lists the next `most` recipients, sorted by the IDs of their contacts, which is the order in which contacts were
 * created.
 */
async function broadcastRecipientRows(
  db: Db,
  { teamId, id, after, most }: BroadcastRef & { after: string; most: number },
): Promise<RecipientRow[]> {
  const broadcast = await db
    .selectFrom('broadcasts')
    .leftJoin('broadcast_ab_tests as t', 't.broadcast_id', 'broadcasts.id')
    .select(['seq', 't.winner'])
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (!broadcast) return []
  const rows = await db
    .selectFrom('broadcast_recipients as r')
    .leftJoin('emails as e', 'e.id', 'r.email_id')
    .leftJoin('contacts as c', (join) => join.onRef('c.id', '=', 'r.contact_id').on('c.team_id', '=', teamId))
    .select(['r.contact_id', 'r.email_id', 'r.skipped', 'r.opens', 'r.clicks', 'r.unsubscribed', 'r.variant'])
    .select(['e.to_header', 'e.last_event', 'e.sent_at', 'c.email'])
    .where('r.broadcast', '=', broadcast.seq)
    .where('r.contact_id', '>', after)
    .orderBy('r.contact_id')
    .limit(most)
    .execute()
  const bounced = rows.flatMap(({ email_id: emailId, last_event: event }) =>
    emailId !== null && event === 'bounced' ? [{ id: emailId }] : [],
  )
  const bounces = await getBounces(db, bounced)
  return rows.map((row) => ({
    contactId: row.contact_id,
    email: row.to_header === null ? row.email : (JSON.parse(row.to_header) as string[])[0]!,
    emailId: row.email_id,
    lastEvent: row.last_event,
    skipped: row.skipped,
    sentAt: row.sent_at,
    opens: row.opens,
    clicks: row.clicks,
    unsubscribed: row.unsubscribed === 1,
    variant: row.email_id === null ? null : (row.variant ?? broadcast.winner),
    bounceType: bounces.get(row.email_id ?? '')?.bounce?.type ?? null,
  }))
}

export const methods = { reads: { broadcastRecipientRows } }
