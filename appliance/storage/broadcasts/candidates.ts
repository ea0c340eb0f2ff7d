/** Who would get a draft, for looking at it before it is sent. Sending itself asks again (recipients.ts, spool/enqueue.ts). */
import { effectiveSubscription, type PropertyValue } from '../../mail/audience.ts'
import { addressDomain } from '../../mail/broadcast.ts'
import type { Db } from '../schema.ts'
import { memberCondition, providersOf } from './recipients.ts'

/** A contact of the segment. */
export interface Candidate {
  contactId: string
  email: string
  firstName: string | null
  lastName: string | null
  /** By the label of the property. */
  properties: Record<string, PropertyValue>
  /** The provider of its domain; empty: it is not known yet. */
  provider: string
  /** Why it would get nothing. */
  out: 'unsubscribed' | 'topic' | 'suppressed' | 'excluded' | null
}

export interface CandidatesArgs {
  teamId: string
  segmentId: string
  exclude: string[]
  topicId: string | null
  /** The last contact of the part before; empty: the first part. */
  after: string
  most: number
}

/** The next contacts of a segment, in the order of their ids. */
async function broadcastCandidates(db: Db, args: CandidatesArgs, now: number): Promise<Candidate[]> {
  const { teamId, segmentId, exclude, topicId, after, most } = args
  const rows = await db
    .selectFrom('contacts')
    .leftJoin('contact_topics as x', (join) =>
      join.onRef('x.contact_id', '=', 'contacts.id').on('x.topic_id', '=', topicId ?? ''),
    )
    .leftJoin('suppressions as s', (join) =>
      join.onRef('s.address', '=', 'contacts.address_key').on('s.team_id', '=', teamId),
    )
    .select(['contacts.id', 'contacts.email', 'contacts.first_name', 'contacts.last_name'])
    .select(['contacts.properties', 'contacts.unsubscribed_at', 'x.subscription', 's.id as suppressed'])
    .where('contacts.team_id', '=', teamId)
    .where('contacts.id', '>', after)
    .where(await memberCondition(db, teamId, segmentId, now))
    .orderBy('contacts.id')
    .limit(most)
    .execute()
  const ids = rows.map(({ id }) => id)
  const excluded = await membersAmong(db, { teamId, exclude, ids }, now)
  const preset = await presetOf(db, teamId, topicId)
  const providers = await providersOf(
    db,
    rows.map(({ email }) => addressDomain(email)),
  )
  return rows.map((row) => {
    const choice = row.subscription === null ? undefined : { subscription: row.subscription }
    const offTopic =
      preset !== null && effectiveSubscription(choice, { defaultSubscription: preset }) === 'opt_out'
    return {
      contactId: row.id,
      email: row.email,
      firstName: row.first_name,
      lastName: row.last_name,
      properties: JSON.parse(row.properties) as Candidate['properties'],
      provider: providers.get(addressDomain(row.email)) ?? '',
      out: outOf({
        excluded: excluded.has(row.id),
        unsubscribed: row.unsubscribed_at !== null,
        topic: offTopic,
        suppressed: row.suppressed !== null,
      }),
    }
  })
}

/** The first reason that holds, in the order in which sending asks. */
const outOf = (reasons: Record<NonNullable<Candidate['out']>, boolean>): Candidate['out'] =>
  (Object.keys(reasons) as NonNullable<Candidate['out']>[]).find((reason) => reasons[reason]) ?? null

/** The contacts that are in one of the excluded segments. */
async function membersAmong(
  db: Db,
  { teamId, exclude, ids }: { teamId: string; exclude: readonly string[]; ids: readonly string[] },
  now: number,
): Promise<Set<string>> {
  const found = new Set<string>()
  if (ids.length === 0) return found
  for (const segmentId of exclude) {
    const rows = await db
      .selectFrom('contacts')
      .select('contacts.id')
      .where('contacts.team_id', '=', teamId)
      .where('contacts.id', 'in', ids)
      .where(await memberCondition(db, teamId, segmentId, now))
      .execute()
    for (const { id } of rows) found.add(id)
  }
  return found
}

/** The default of a topic; null: there is none. */
async function presetOf(db: Db, teamId: string, topicId: string | null) {
  if (topicId === null) return null
  const row = await db
    .selectFrom('topics')
    .select('default_subscription')
    .where('team_id', '=', teamId)
    .where('id', '=', topicId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  return row?.default_subscription ?? null
}

/** The methods of this noun (nouns.ts). */
export const methods = { reads: { broadcastCandidates } }
