/**
 * The contacts that would get a draft, for previews. They are checked again when the broadcast is sent (recipients.ts,
 * spool/enqueue.ts).
 */
import { effectiveSubscription, type PropertyValue } from '../../mail/audience.ts'
import { getAddressDomain } from '../../mail/broadcast.ts'
import type { Db } from '../schema.ts'
import { findScanEnd, buildMemberCondition } from './members.ts'
import { getKnownProviders } from './recipients.ts'

/** A contact of the segment. */
export interface Candidate {
  contactId: string
  email: string
  firstName: string | null
  lastName: string | null
  /** Values by the label of their property. */
  properties: Record<string, PropertyValue>
  /** The provider of the address's domain; empty if it isn't known yet. */
  provider: string
  /** Why the contact would be skipped; null if it wouldn't be. */
  out: 'unsubscribed' | 'topic' | 'suppressed' | 'excluded' | null
}

export interface CandidatesArgs {
  teamId: string
  segmentId: string
  exclude: string[]
  topicId: string | null
  /** ID of the last contact on the previous page; empty for the first page. */
  after: string
  most: number
  /** Returns only this contact. */
  contactId?: string | undefined
}

/** Maximum number of contacts that one call examines. */
const SCANNED = 20_000

/**
 * Returns the next contacts of a segment, sorted by ID, and where to continue; `next` is null at the end. A page may
 * have few contacts or none before the end, because a call examines at most 20,000.
 */
async function broadcastCandidates(
  db: Db,
  args: CandidatesArgs,
  now: number,
): Promise<{ candidates: Candidate[]; next: string | null }> {
  const { teamId, segmentId, exclude, topicId, after, most, contactId } = args
  const end = contactId ?? (await findScanEnd(db, { teamId, after, scanned: SCANNED }))
  let members = db
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
    .where(await buildMemberCondition(db, teamId, segmentId, now))
    .orderBy('contacts.id')
    .limit(most)
  if (contactId !== undefined) members = members.where('contacts.id', '=', contactId)
  if (end !== undefined) members = members.where('contacts.id', '<=', end)
  const rows = await members.execute()
  const ids = rows.map(({ id }) => id)
  const excluded = await membersAmong(db, { teamId, exclude, ids }, now)
  const preset = await presetOf(db, teamId, topicId)
  const providers = await getKnownProviders(
    db,
    rows.map(({ email }) => getAddressDomain(email)),
  )
  const candidates = rows.map((row): Candidate => {
    const choice = row.subscription === null ? undefined : { subscription: row.subscription }
    const offTopic =
      preset !== null && effectiveSubscription(choice, { defaultSubscription: preset }) === 'opt_out'
    return {
      contactId: row.id,
      email: row.email,
      firstName: row.first_name,
      lastName: row.last_name,
      properties: JSON.parse(row.properties) as Candidate['properties'],
      provider: providers.get(getAddressDomain(row.email)) ?? '',
      out: outOf({
        excluded: excluded.has(row.id),
        unsubscribed: row.unsubscribed_at !== null,
        topic: offTopic,
        suppressed: row.suppressed !== null,
      }),
    }
  })
  const last = rows.length === most ? rows.at(-1)?.id : end
  return { candidates, next: contactId === undefined ? (last ?? null) : null }
}

/** Returns the first reason that applies, in the order in which sending checks them. */
const outOf = (reasons: Record<NonNullable<Candidate['out']>, boolean>): Candidate['out'] =>
  (Object.keys(reasons) as NonNullable<Candidate['out']>[]).find((reason) => reasons[reason]) ?? null

/** Returns those contacts that are in an excluded segment. */
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
      .where(await buildMemberCondition(db, teamId, segmentId, now))
      .execute()
    for (const { id } of rows) found.add(id)
  }
  return found
}

/** Returns the default subscription of a topic; null if there is none. */
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

export const methods = { reads: { broadcastCandidates } }
