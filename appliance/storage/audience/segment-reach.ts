/** The mailbox providers of a segment's contacts, and the size of segments by day. */
import { sql } from 'kysely'
import { getAddressDomain } from '../../mail/broadcast.ts'
import { getKnownProviders } from '../broadcasts/recipients.ts'
import type { Db } from '../schema.ts'
import { buildSearchQuery } from './contact-list.ts'
import { toUtcDay } from './counts.ts'
import { isSuppressed } from './rules.ts'

/** Number of domains that are looked up per statement. */
const DOMAINS = 1000

/** Contacts of a segment, counted among those that one call examines. */
export interface ReachPart {
  contacts: number
  /**
   * Number of contacts that are neither unsubscribed nor suppressed, by provider. The name is empty if the provider
   * isn't known yet.
   */
  providers: { provider: string; contacts: number }[]
  /** Position at which the next call continues; null if all contacts were examined. */
  next: string | null
}

/**
 * Counts the contacts of a segment by mailbox provider, starting with the newest contacts. Each call examines a limited
 * number.
 */
async function segmentProviders(
  db: Db,
  { teamId, segmentId, after }: { teamId: string; segmentId: string; after?: string | undefined },
  now: number,
): Promise<ReachPart> {
  const { query, end, column } = await buildSearchQuery(db, { teamId, segmentId, after }, now, true)
  const eligible = sql<number>`case when contacts.unsubscribed_at is null and not (${isSuppressed}) then 1 else 0 end`
  let within = query.select(['contacts.address_key', eligible.as('eligible')])
  if (after !== undefined) within = within.where(sql<boolean>`${sql.ref(column)} < ${after}`)
  const rows = await within.execute()
  const byDomain = new Map<string, number>()
  for (const { address_key: key, eligible: may } of rows) {
    if (Number(may) === 0) continue
    const domain = getAddressDomain(key)
    byDomain.set(domain, (byDomain.get(domain) ?? 0) + 1)
  }
  const counts = new Map<string, number>()
  const domains = [...byDomain.keys()]
  for (let from = 0; from < domains.length; from += DOMAINS) {
    const some = domains.slice(from, from + DOMAINS)
    const known = await getKnownProviders(db, some)
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
  /** The UTC day, such as `2026-01-31`. */
  date: string
  contacts: number
}

/**
 * Returns the recorded sizes of a segment, oldest first.
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
 * recorded only if its contacts were counted that day, because counting them here would read all contacts of each team.
 */
async function recordSegmentDays(db: Db, { before }: { before: string }, now: number): Promise<void> {
  const day = toUtcDay(now)
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
