import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'
import type { TrackedEmail } from '../storage.ts'

/** See `TrackingStorage.trackedEmail`. */
export async function trackedEmail(
  db: Kysely<Tables>,
  { emailId }: { emailId: string },
): Promise<TrackedEmail | undefined> {
  const email = await db
    .selectFrom('emails as e')
    .innerJoin('domains as d', 'd.id', 'e.domain_id')
    .select(['e.team_id', 'd.open_tracking', 'd.click_tracking'])
    .where('e.id', '=', emailId)
    .executeTakeFirst()
  if (!email) return undefined
  const recipients = await db
    .selectFrom('recipients')
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
