/**
 * Recipients of a broadcast that wait or are queued. Contacts become recipients in expansion.ts, and recipients get a
 * queued email in spool/enqueue.ts.
 */
import type { PropertyValue } from '../../mail/audience.ts'
import { listHeldProviders, type ProviderHolds } from '../../mail/automatic-pause.ts'
import { getAddressDomain } from '../../mail/broadcast.ts'
import { isProviderPlaceholder } from '../../mail/queue.ts'
import { finalQueueColumns } from '../deliveries.ts'
import type { Db } from '../schema.ts'

/** A recipient that waits to be queued. */
export interface WaitingRecipient {
  contactId: string
  /** The current provider of the address's domain; empty if unknown. */
  provider: string
  /** Whether the recipient is stored under another provider. */
  moved: boolean
  /** Index of the recipient's variant in an A/B test; null if there is none. */
  variant: number | null
  /** The contact; null if it was deleted. */
  contact: {
    email: string
    firstName: string | null
    lastName: string | null
    /** Values by the label of their property. */
    properties: Record<string, PropertyValue>
  } | null
}

/**
 * Lists waiting recipients, at most `most` for each provider.
 * @param args closed: providers that can't accept more at present; tested: whether to list only recipients in an A/B
 * test
 */
async function waitingRecipients(
  db: Db,
  { id, closed, most, tested = false }: { id: string; closed: string[]; most: number; tested?: boolean },
): Promise<WaitingRecipient[]> {
  const broadcast = await db
    .selectFrom('broadcasts')
    .select(['seq', 'team_id'])
    .where('id', '=', id)
    .executeTakeFirst()
  if (!broadcast) return []
  const shut = new Set(closed)
  const found: WaitingRecipient[] = []
  for (const bucket of await bucketsOf(db, broadcast.seq, tested)) {
    if (shut.has(bucket)) continue
    let query = db
      .selectFrom('broadcast_recipients as r')
      .leftJoin('contacts as c', (join) =>
        join.onRef('c.id', '=', 'r.contact_id').on('c.team_id', '=', broadcast.team_id),
      )
      .select(['r.contact_id', 'r.variant', 'c.email', 'c.first_name', 'c.last_name', 'c.properties'])
      .where('r.broadcast', '=', broadcast.seq)
      .where('r.bucket', '=', bucket)
      .orderBy('r.contact_id')
      .limit(most)
    if (tested) query = query.where('r.variant', 'is not', null)
    const rows = await query.execute()
    const domains = rows.flatMap(({ email }) => (email === null ? [] : [getAddressDomain(email)]))
    const providers = bucket === '' ? await getKnownProviders(db, domains) : new Map<string, string>()
    for (const row of rows) {
      const known = row.email === null ? undefined : providers.get(getAddressDomain(row.email))
      const provider = known ?? bucket
      const { contact_id: contactId, email, variant } = row
      const contact =
        email === null
          ? null
          : {
              email,
              firstName: row.first_name,
              lastName: row.last_name,
              properties: JSON.parse(row.properties!) as Record<string, PropertyValue>,
            }
      found.push({ contactId, provider, moved: provider !== bucket, variant, contact })
    }
  }
  return found
}

/** Lists the providers of waiting recipients. Takes one index step for each provider. */
async function bucketsOf(db: Db, seq: number, tested: boolean): Promise<string[]> {
  const buckets: string[] = []
  for (;;) {
    let query = db
      .selectFrom('broadcast_recipients')
      .select('bucket')
      .where('broadcast', '=', seq)
      .where('bucket', 'is not', null)
    if (tested) query = query.where('variant', 'is not', null)
    const before = buckets.at(-1)
    if (before !== undefined) query = query.where('bucket', '>', before)
    const row = await query.orderBy('bucket').limit(1).executeTakeFirst()
    if (!row) return buckets
    buckets.push(row.bucket!)
  }
}

/** Returns the known providers of domains. */
export async function getKnownProviders(db: Db, domains: readonly string[]): Promise<Map<string, string>> {
  if (domains.length === 0) return new Map()
  const rows = await db
    .selectFrom('destinations')
    .select(['domain', 'provider'])
    .where('domain', 'in', [...new Set(domains)])
    .execute()
  return new Map(rows.map(({ domain, provider }) => [domain, provider]))
}

/** Counts the queued emails of a broadcast by provider. The name is empty for unknown providers. */
async function broadcastLoad(db: Db, { id }: { id: string }): Promise<Record<string, number>> {
  const rows = await db
    .selectFrom('emails as e')
    .innerJoin('deliveries as d', 'd.email_id', 'e.id')
    .select((row) => ['d.provider as provider', row.fn.countAll<number>().as('n')])
    .where('e.broadcast_id', '=', id)
    .where('e.last_event', 'in', ['queued', 'sent', 'delivery_delayed'])
    .where('d.expires_at', 'is not', null)
    .groupBy('d.provider')
    .execute()
  const load: Record<string, number> = {}
  for (const { provider, n } of rows) {
    const name = isProviderPlaceholder(provider) ? '' : provider
    load[name] = (load[name] ?? 0) + Number(n)
  }
  return load
}

/** The cause stored for the remaining deliveries of a canceled broadcast. */
const CANCELED = {
  phase: 'queue',
  host: null,
  ip: null,
  reply: null,
  by: 'sender',
  note: 'the broadcast was canceled',
} as const

/** The final state of a delivery of a canceled broadcast. */
export const canceledResult = { state: 'canceled' as const, cause: JSON.stringify(CANCELED) }

/**
 * Ends the next `most` waiting recipients of a canceled broadcast, and as many of its queued emails. Returns false if
 * nothing is left and the broadcast has ended. Emails in flight end when their attempt ends.
 */
async function closeCanceled(
  db: Db,
  { id, most }: { id: string; most: number },
  now: number,
): Promise<boolean> {
  const row = await db
    .selectFrom('broadcasts')
    .select(['seq', 'skipped', 'expanded_at'])
    .where('id', '=', id)
    .where('status', '=', 'canceled')
    .executeTakeFirst()
  if (!row) return false
  const waiting = await db
    .selectFrom('broadcast_recipients')
    .select('contact_id')
    .where('broadcast', '=', row.seq)
    .where('bucket', 'is not', null)
    .limit(most)
    .execute()
  if (waiting.length > 0) {
    const skipped = JSON.parse(row.skipped) as Record<string, number>
    await db
      .updateTable('broadcast_recipients')
      .set({ bucket: null, skipped: 'canceled' })
      .where('broadcast', '=', row.seq)
      .where(
        'contact_id',
        'in',
        waiting.map((one) => one.contact_id),
      )
      .execute()
    await db
      .updateTable('broadcasts')
      .set({
        skipped: JSON.stringify({ ...skipped, canceled: (skipped.canceled ?? 0) + waiting.length }),
      })
      .where('id', '=', id)
      .execute()
  }
  const emails = await endQueued(db, { id, most }, now)
  if (waiting.length > 0 || emails > 0) return true
  await db.updateTable('broadcasts').set({ finished_at: now }).where('id', '=', id).execute()
  return false
}

async function endQueued(db: Db, { id, most }: { id: string; most: number }, now: number): Promise<number> {
  const rows = await db
    .selectFrom('emails as e')
    .innerJoin('deliveries as d', 'd.email_id', 'e.id')
    .select(['d.id', 'd.email_id'])
    .where('e.broadcast_id', '=', id)
    .where('e.last_event', 'in', ['queued', 'sent', 'delivery_delayed'])
    .where('d.expires_at', 'is not', null)
    .where((row) => row.or([row('d.lease_until', 'is', null), row('d.lease_until', '<=', now)]))
    .limit(most)
    .execute()
  if (rows.length === 0) return 0
  const emailIds = rows.map(({ email_id: emailId }) => emailId)
  await db
    .updateTable('deliveries')
    .set({ ...finalQueueColumns, ...canceledResult, updated_at: now })
    .where('email_id', 'in', emailIds)
    .where(
      'id',
      'in',
      rows.map((row) => row.id),
    )
    .execute()
  await db.updateTable('emails').set({ last_event: 'canceled' }).where('id', 'in', emailIds).execute()
  return rows.length
}

/**
 * Queues the next `most` emails that were parked while their broadcast, or its part for their provider, was paused.
 * Their retry period starts again. Returns false if nothing is left to release.
 */
async function releaseParked(
  db: Db,
  { id, most, expiresAt }: { id: string; most: number; expiresAt: number },
  now: number,
): Promise<boolean> {
  const broadcast = await db
    .selectFrom('broadcasts')
    .select('holds')
    .where('id', '=', id)
    .where('status', '=', 'queued')
    .where('paused_at', 'is', null)
    .executeTakeFirst()
  if (!broadcast) return false
  const held = listHeldProviders(JSON.parse(broadcast.holds ?? '{}') as ProviderHolds)
  let query = db
    .selectFrom('emails as e')
    .innerJoin('deliveries as d', 'd.email_id', 'e.id')
    .select(['d.id', 'd.email_id'])
    .where('e.broadcast_id', '=', id)
    .where('e.last_event', 'in', ['queued', 'sent', 'delivery_delayed'])
    .where('d.state', '=', 'held')
    .where('d.touched_by', '=', id)
  if (held.length > 0) query = query.where('d.provider', 'not in', held)
  const rows = await query.limit(most).execute()
  if (rows.length === 0) return false
  await db
    .updateTable('deliveries')
    .set({ state: 'waiting', touched_by: null, due_at: now, expires_at: expiresAt })
    .where(
      'email_id',
      'in',
      rows.map((row) => row.email_id),
    )
    .where('touched_by', '=', id)
    .execute()
  return true
}

export const methods = {
  reads: { waitingRecipients, broadcastLoad },
  writes: { closeCanceled, releaseParked },
}
