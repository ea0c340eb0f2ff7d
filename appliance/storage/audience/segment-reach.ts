/** The mailbox providers of a segment's contacts, and the size of segments by day. */
import { sql } from 'kysely'
import { addressDomain } from '../../mail/broadcast.ts'
import { providersOf } from '../broadcasts/recipients.ts'
import type { Db } from '../schema.ts'
import { matching } from './contact-list.ts'
import { dayOf } from './counts.ts'
import { isSuppressed } from './rules.ts'

/** Domains looked up per statement. */
const DOMAINS = 1000

/** Contacts of a segment among those that one call examines. */
export interface ReachPart {
  contacts: number
  /** Number of contacts that are neither unsubscribed nor suppressed, by provider. Empty name: not known yet. */
  providers: { provider: string; contacts: number }[]
  /** Where the next call continues; null: all were examined. */
  next: string | null
}

/** Counts the contacts of a segment by mailbox provider, the newest first. Each call examines a bounded number. */
async function segmentProviders(
  db: Db,
  { teamId, segmentId, after }: { teamId: string; segmentId: string; after?: string | undefined },
  now: number,
): Promise<ReachPart> {
  const { query, end, column } = await matching(db, { teamId, segmentId, after }, now, true)
  const eligible = sql<number>`case when contacts.unsubscribed_at is null and not (${isSuppressed}) then 1 else 0 end`
  let within = query.select(['contacts.address_key', eligible.as('eligible')])
  if (after !== undefined) within = within.where(sql<boolean>`${sql.ref(column)} < ${after}`)
  const rows = await within.execute()
  const byDomain = new Map<string, number>()
  for (const { address_key: key, eligible: may } of rows) {
    if (Number(may) === 0) continue
    const domain = addressDomain(key)
    byDomain.set(domain, (byDomain.get(domain) ?? 0) + 1)
  }
  const counts = new Map<string, number>()
  const domains = [...byDomain.keys()]
  for (let from = 0; from < domains.length; from += DOMAINS) {
    const some = domains.slice(from, from + DOMAINS)
    const known = await providersOf(db, some)
    for (const domain of some) {
      const provider = known.get(domain) ?? ''
      counts.set(provider, (counts.get(provider) ?? 0) + byDomain.get(domain)!)
    }
  }
  const providers = [...counts].map(([provider, contacts]) => ({ provider, contacts }))
  return { contacts: rows.length, providers, next: end ?? null }
}

/** The size of a segment on a day, as last recorded. */
export interface SegmentDay {
  /** In UTC, as `2026-01-31`. */
  date: string
  contacts: number
}

/**
 * Returns the sizes of a segment that were recorded, oldest first.
 * @param args from: the first day
 */
async function segmentDays(
  db: Db,
  { segmentId, from }: { segmentId: string; from: string },
): Promise<SegmentDay[]> {
  return db
    .selectFrom('segment_days')
    .select(['day as date', 'contacts'])
    .where('segment_id', '=', segmentId)
    .where('day', '>=', from)
    .orderBy('day')
    .execute()
}

/**
 * Records the size of every segment for the current UTC day, and deletes days before `before`. A segment with rules is
 * recorded if its contacts were counted that day: counting them here would read all contacts of each team.
 */
async function recordSegmentDays(db: Db, { before }: { before: string }, now: number): Promise<void> {
  const day = dayOf(now)
  await sql`insert into segment_days (segment_id, day, contacts)
    select s.id, cast(${day} as text), coalesce(c.n, 0) from segments s
      left join audience_counts c on c.team_id = s.team_id and c.noun = 'segment' and c.subject = s.id
      where s.deleted_at is null and s.filter is null
    union all
    select id, cast(${day} as text), counted from segments
      where deleted_at is null and filter is not null and counted_at >= ${Date.parse(day)}
    on conflict (segment_id, day) do update set contacts = excluded.contacts`.execute(db)
  await db.deleteFrom('segment_days').where('day', '<', before).execute()
}

export const methods = {
  reads: { segmentProviders, segmentDays },
  writes: { recordSegmentDays },
}
