/** The consent log, which is append-only: who agreed to what, when, how, and from where. */
import type { Selectable } from 'kysely'
import type { ConsentContext, ConsentOrigin, Subscription } from '../../mail/audience.ts'
import { newId } from '../../mail/ids.ts'
import type { Db } from '../schema.ts'
import { type Contact, hashContactAddress } from './contact-rows.ts'
import type { ConsentsTable } from './tables.ts'

/** One change of a subscription. */
export interface Consent {
  id: string
  contactId: string
  /** ID of the topic; null for everything. */
  topicId: string | null
  /** The previous choice; null if there was none. */
  was: Subscription | null
  subscription: Subscription
  origin: ConsentOrigin
  via: string
  source: string | null
  ip: string | null
  userAgent: string | null
  wording: string | null
  /** Unix milliseconds. */
  at: number
}

/** A change to record. `scope`: the ID of a topic, or empty for everything. */
export interface ConsentChange {
  scope: string
  was: Subscription | null
  subscription: Subscription
}

const toConsent = (row: Selectable<ConsentsTable>): Consent => ({
  id: row.id,
  contactId: row.contact_id,
  topicId: row.scope === '' ? null : row.scope,
  was: row.was,
  subscription: row.subscription,
  origin: row.origin,
  via: row.via,
  source: row.source,
  ip: row.ip,
  userAgent: row.user_agent,
  wording: row.wording,
  at: row.at,
})

/**
 * Adds changes of a contact's subscriptions to the log.
 * @param person hash: hash of the address, for a person who isn't a contact
 */
export async function recordConsents(
  db: Db,
  { id, teamId, hash = null }: Pick<Contact, 'id' | 'teamId'> & { hash?: string | null },
  changes: readonly ConsentChange[],
  act: ConsentContext,
  now: number,
): Promise<void> {
  if (changes.length === 0) return
  const { origin, via, source, ip, wording } = act
  const about = { team_id: teamId, contact_id: id, address_hash: hash, user_agent: act.userAgent, at: now }
  await db
    .insertInto('consents')
    .values(
      changes.map((change) => ({ id: newId(now), ...about, ...change, origin, via, source, ip, wording })),
    )
    .execute()
}

/** Stores the log of a contact under the hash of its address, because the contact is about to be deleted. */
export async function hashConsents(
  db: Db,
  { id, teamId }: Pick<Contact, 'id' | 'teamId'>,
  hash: string,
): Promise<void> {
  await db
    .updateTable('consents')
    .set({ address_hash: hash })
    .where('team_id', '=', teamId)
    .where('contact_id', '=', id)
    .execute()
}

/** Maximum number of entries returned. */
const MOST = 1000

/** Lists the log of a contact and of earlier contacts with its address, newest first, at most 1,000 entries. */
async function listConsents(
  db: Db,
  { teamId, contactId, email }: { teamId: string; contactId: string; email: string },
): Promise<Consent[]> {
  const hash = await hashContactAddress(db, teamId, email)
  const rows = await db
    .selectFrom('consents')
    .selectAll()
    .where('team_id', '=', teamId)
    .where((row) => row.or([row('contact_id', '=', contactId), row('address_hash', '=', hash)]))
    .orderBy('id', 'desc')
    .limit(MOST)
    .execute()
  return rows.map(toConsent)
}

export const methods = {
  reads: { listConsents },
}
