/**
 * Opt-outs of addresses without a contact, stored under a keyed hash. If the contact is created again, it stays opted
 * out.
 */
import type { ConsentOrigin, OptOut } from '../../mail/audience.ts'
import type { Db } from '../schema.ts'
import { getChoices, saveChoices } from './choices.ts'
import { type Contact, hashContactAddress } from './contact-rows.ts'
import { addCounts, type Delta } from './counts.ts'

/** The kept opt-outs of an address. */
export interface KeptOptOuts {
  hash: string
  /** The opt-out of everything; null if there is none. */
  ofAll: OptOut | null
  topics: (OptOut & { topicId: string })[]
}

/** Stores the opt-outs of a contact under the hash of its address. Opt-outs that are already stored are kept. */
export async function keepOptOuts(db: Db, contact: Contact, hash: string): Promise<void> {
  const { teamId, id, optOut } = contact
  const rowOf = (scope: string, origin: ConsentOrigin, at: number) => ({
    team_id: teamId,
    address_hash: hash,
    scope,
    origin,
    at,
  })
  const choices = (await getChoices(db, [id])).get(id)?.values() ?? []
  const rows = [...choices].flatMap(({ topicId, subscription, origin, changedAt }) =>
    subscription === 'opt_out' ? [rowOf(topicId, origin, changedAt)] : [],
  )
  if (optOut) rows.push(rowOf('', optOut.origin, optOut.at))
  if (rows.length === 0) return
  await db
    .insertInto('opt_outs')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['team_id', 'address_hash', 'scope']).doNothing())
    .execute()
}

/**
 * Returns the kept opt-outs of an address; undefined if there are none. If the team has none at all, skips hashing,
 * which takes time.
 */
export async function getKeptOptOuts(
  db: Db,
  teamId: string,
  email: string,
): Promise<KeptOptOuts | undefined> {
  const any = await db.selectFrom('opt_outs').select('scope').where('team_id', '=', teamId).limit(1).execute()
  if (any.length === 0) return undefined
  const hash = await hashContactAddress(db, teamId, email)
  const rows = await db
    .selectFrom('opt_outs')
    .select(['scope', 'origin', 'at'])
    .where('team_id', '=', teamId)
    .where('address_hash', '=', hash)
    .execute()
  if (rows.length === 0) return undefined
  const ofAll = rows.find(({ scope }) => scope === '')
  return {
    hash,
    ofAll: ofAll ? { at: ofAll.at, origin: ofAll.origin } : null,
    topics: rows.flatMap(({ scope, origin, at }) => (scope === '' ? [] : [{ topicId: scope, origin, at }])),
  }
}

/** Moves the kept opt-outs of a contact's address to the contact. The caller sets `optOut`. */
export async function restoreOptOuts(
  db: Db,
  contact: Pick<Contact, 'id' | 'teamId'>,
  { hash, topics }: KeptOptOuts,
): Promise<void> {
  const current = (await getChoices(db, [contact.id])).get(contact.id)
  const there = new Set(await existingTopics(db, contact.teamId, topics))
  const taken = topics.filter(
    ({ topicId }) => there.has(topicId) && current?.get(topicId)?.subscription !== 'opt_out',
  )
  await saveChoices(
    db,
    contact,
    taken.map(({ topicId, origin, at }) => ({ topicId, subscription: 'opt_out', origin, changedAt: at })),
  )
  const deltas = taken.flatMap(({ topicId }): Delta[] => [
    ['opt_out', topicId, 1],
    ...(current?.has(topicId) ? [['opt_in', topicId, -1] as const] : []),
  ])
  await addCounts(db, contact.teamId, deltas)
  await db
    .deleteFrom('opt_outs')
    .where('team_id', '=', contact.teamId)
    .where('address_hash', '=', hash)
    .execute()
}

async function existingTopics(db: Db, teamId: string, topics: { topicId: string }[]): Promise<string[]> {
  if (topics.length === 0) return []
  const rows = await db
    .selectFrom('topics')
    .select('id')
    .where('team_id', '=', teamId)
    .where(
      'id',
      'in',
      topics.map(({ topicId }) => topicId),
    )
    .where('deleted_at', 'is', null)
    .execute()
  return rows.map(({ id }) => id)
}
