/** Choices on the preference page, including those of people who aren't contacts or no longer are. */
import type { ConsentContext, Subscription } from '../../mail/audience.ts'
import { toSuppressionKey } from '../../mail/suppression.ts'
import { recordUnsubscribe } from '../broadcasts/results.ts'
import type { Db } from '../schema.ts'
import type { RequestedChoice } from './choices.ts'
import { type ConsentChange, recordConsents } from './consents.ts'
import { type Contact, getContact, hashContactAddress } from './contact-rows.ts'
import { changeContact } from './contacts.ts'
import { getKeptOptOuts } from './opt-outs.ts'
import { type ContactTopic, listContactTopics, getTopics } from './topics.ts'

/** The person, who is a contact or the owner of the address. */
export interface PersonArgs {
  teamId: string
  contactId: string | null
  /** The domain in A-labels. */
  address: string
}

export interface Preferences {
  /** ID of the contact; null if the person isn't a contact. */
  contactId: string | null
  /** Whether the person has opted out of everything. */
  unsubscribed: boolean
  /** Every topic of the team, newest first, with the person's subscription. */
  topics: ContactTopic[]
}

async function findPerson(db: Db, { teamId, contactId, address }: PersonArgs): Promise<Contact | undefined> {
  const known = contactId === null ? undefined : await getContact(db, { teamId, ref: { id: contactId } })
  return known ?? getContact(db, { teamId, ref: { email: address } })
}

/** Returns a person's preferences; undefined if the team doesn't exist. */
async function getPreferences(db: Db, person: PersonArgs): Promise<Preferences | undefined> {
  const { teamId, address } = person
  const team = await db.selectFrom('teams').select('id').where('id', '=', teamId).executeTakeFirst()
  if (!team) return undefined
  const contact = await findPerson(db, person)
  if (contact) {
    const topics = await listContactTopics(db, { teamId, contactId: contact.id })
    return { contactId: contact.id, unsubscribed: contact.optOut !== null, topics }
  }
  const kept = await getKeptOptOuts(db, teamId, address)
  const out = new Set(kept?.topics.map(({ topicId }) => topicId))
  const topics = (await getTopics(db, teamId)).map((topic) => {
    const subscription: Subscription = out.has(topic.id) ? 'opt_out' : topic.defaultSubscription
    return { ...topic, subscription, choice: null }
  })
  return { contactId: null, unsubscribed: Boolean(kept?.ofAll), topics }
}

/** A requested change. Undefined fields and missing topics are left unchanged. */
export interface PreferenceChange {
  unsubscribed?: boolean | undefined
  topics: RequestedChoice[]
}

interface Saving extends PersonArgs {
  change: PreferenceChange
  act: ConsentContext
}

/**
 * Stores a person's choices that differ from the current ones. Ignores topics that the team doesn't have. For a
 * contact, records `contact.updated` and `contact.topics.updated`. If there is no contact, or the contact has another
 * address by now, stores opt-outs under the hash of the address.
 */
export async function savePreferences(db: Db, args: Saving, now: number): Promise<void> {
  const before = await getPreferences(db, args)
  if (!before) return
  const { change, act } = args
  const known = new Map(before.topics.map(({ id, subscription }) => [id, subscription]))
  const asked = change.topics.filter(({ id }) => known.has(id))
  const leaves = change.unsubscribed === true || asked.some(({ subscription }) => subscription === 'opt_out')
  if (leaves && act.origin === 'person' && act.source !== null) await recordUnsubscribe(db, act.source)
  const contact = await findPerson(db, args)
  if (contact) {
    const topics = asked.filter(({ id, subscription }) => known.get(id) !== subscription)
    await changeContact(db, { contact, unsubscribed: change.unsubscribed, topics, act }, now)
  }
  if (!contact || toSuppressionKey(contact.email) !== toSuppressionKey(args.address))
    await keepForAddress(db, { ...args, change: { ...change, topics: asked } }, contact === undefined, now)
}

/**
 * Stores choices under the hash of the address.
 * @param logged whether to add the changes to the consent log
 */
async function keepForAddress(db: Db, args: Saving, logged: boolean, now: number): Promise<void> {
  const { teamId, contactId, address, change, act } = args
  const { unsubscribed } = change
  const all: RequestedChoice[] =
    unsubscribed === undefined ? [] : [{ id: '', subscription: unsubscribed ? 'opt_out' : 'opt_in' }]
  const kept = await getKeptOptOuts(db, teamId, address)
  const out = new Set([...(kept?.ofAll ? [''] : []), ...(kept?.topics.map(({ topicId }) => topicId) ?? [])])
  const hash = await hashContactAddress(db, teamId, address)
  const changes: ConsentChange[] = []
  for (const { id: scope, subscription } of [...all, ...change.topics]) {
    if (out.has(scope) === (subscription === 'opt_out')) continue
    await keepOne(db, { teamId, hash, scope, subscription, origin: act.origin }, now)
    changes.push({ scope, was: out.has(scope) ? 'opt_out' : null, subscription })
  }
  if (logged) await recordConsents(db, { id: contactId ?? '', teamId, hash }, changes, act, now)
}

interface Kept {
  teamId: string
  hash: string
  scope: string
  subscription: Subscription
  origin: ConsentContext['origin']
}

async function keepOne(db: Db, { teamId, hash, scope, subscription, origin }: Kept, now: number) {
  const row = { team_id: teamId, address_hash: hash, scope }
  if (subscription === 'opt_out')
    await db
      .insertInto('opt_outs')
      .values({ ...row, origin, at: now })
      .onConflict((conflict) => conflict.columns(['team_id', 'address_hash', 'scope']).doNothing())
      .execute()
  else
    await db
      .deleteFrom('opt_outs')
      .where('team_id', '=', teamId)
      .where('address_hash', '=', hash)
      .where('scope', '=', scope)
      .execute()
}

export const methods = {
  reads: { getPreferences },
  writes: { savePreferences },
}
