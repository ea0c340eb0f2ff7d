/** Topics that contacts can choose to get mail about. */
import type { Selectable } from 'kysely'
import {
  type ConsentContext,
  effectiveSubscription,
  type Subscription,
  type TopicChoice,
  type Visibility,
} from '../../mail/audience.ts'
import { toSuppressionKey } from '../../mail/suppression.ts'
import { recordOtherEvents } from '../events.ts'
import type { Db } from '../schema.ts'
import { type RequestedChoice, getChoices, applyChoices } from './choices.ts'
import { recordChoiceEvent } from './contact-events.ts'
import { type Contact, type ContactRef, findContactsByKey, getContact } from './contact-rows.ts'
import { getCounts, deleteCounts } from './counts.ts'
import { findMissingRef, type MissingRef } from './memberships.ts'
import { getKeptOptOuts } from './opt-outs.ts'
import type { TopicsTable } from './tables.ts'

export interface Topic {
  id: string
  teamId: string
  name: string
  description: string | null
  /** The subscription of everybody who hasn't made a choice. */
  defaultSubscription: Subscription
  visibility: Visibility
  createdAt: number
  updatedAt: number
}

/** A topic, and the number of contacts with each choice. */
export interface CountedTopic extends Topic {
  optedIn: number
  optedOut: number
}

/** A topic, and a contact's subscription to it. */
export interface ContactTopic extends Topic {
  subscription: Subscription
  /** The contact's choice; null if the topic's default applies. */
  choice: TopicChoice | null
}

const toTopic = (row: Selectable<TopicsTable>): Topic => ({
  id: row.id,
  teamId: row.team_id,
  name: row.name,
  description: row.description,
  defaultSubscription: row.default_subscription,
  visibility: row.visibility,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})

/**
 * Lists the topics of a team, newest first.
 * @param id only this topic; undefined for all
 */
export async function getTopics(db: Db, teamId: string, id?: string): Promise<Topic[]> {
  let query = db
    .selectFrom('topics')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('deleted_at', 'is', null)
  if (id !== undefined) query = query.where('id', '=', id)
  return (await query.orderBy('id', 'desc').execute()).map(toTopic)
}

async function counted(db: Db, teamId: string, topics: Topic[]): Promise<CountedTopic[]> {
  const count = await getCounts(db, teamId, ['opt_in', 'opt_out'])
  return topics.map((topic) => ({
    ...topic,
    optedIn: count('opt_in', topic.id),
    optedOut: count('opt_out', topic.id),
  }))
}

/** Lists all topics of a team, newest first. */
const listTopics = async (db: Db, { teamId }: { teamId: string }): Promise<CountedTopic[]> =>
  counted(db, teamId, await getTopics(db, teamId))

async function getTopic(
  db: Db,
  { teamId, id }: { teamId: string; id: string },
): Promise<CountedTopic | undefined> {
  return (await counted(db, teamId, await getTopics(db, teamId, id)))[0]
}

/** Records an event about a topic. */
function recordTopic(
  db: Db,
  type: 'topic.created' | 'topic.updated' | 'topic.deleted',
  topic: Topic,
  now: number,
): void {
  const { id, name, description, defaultSubscription, createdAt, updatedAt } = topic
  const deleted = type === 'topic.deleted'
  const told = { id, name, description, defaultSubscription, deleted, createdAt, updatedAt }
  recordOtherEvents(db, [{ teamId: topic.teamId, type, data: { topic: told } }], now)
}

/** Stores a topic. Returns false and stores nothing if the team already has `most` topics. Records `topic.created`. */
async function createTopic(
  db: Db,
  { topic, most }: { topic: Topic; most: number },
  now: number,
): Promise<boolean> {
  const { n } = await db
    .selectFrom('topics')
    .select((select) => select.fn.countAll<number>().as('n'))
    .where('team_id', '=', topic.teamId)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow()
  if (Number(n) >= most) return false
  await db
    .insertInto('topics')
    .values({
      id: topic.id,
      team_id: topic.teamId,
      name: topic.name,
      description: topic.description,
      default_subscription: topic.defaultSubscription,
      visibility: topic.visibility,
      created_at: topic.createdAt,
      updated_at: topic.updatedAt,
      deleted_at: null,
    })
    .execute()
  recordTopic(db, 'topic.created', topic, now)
  return true
}

/** Changes the given fields. Returns undefined if the topic doesn't exist. Records `topic.updated`. */
async function updateTopic(
  db: Db,
  {
    teamId,
    id,
    change,
  }: { teamId: string; id: string; change: Partial<Pick<Topic, 'name' | 'description' | 'visibility'>> },
  now: number,
): Promise<Topic | undefined> {
  const row = await db
    .updateTable('topics')
    .set({ ...change, updated_at: now })
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
  if (!row) return undefined
  const topic = toTopic(row)
  recordTopic(db, 'topic.updated', topic, now)
  return topic
}

/** Hides a topic immediately; `sweepDeleted` removes its choices later. Records `topic.deleted`. */
async function deleteTopic(
  db: Db,
  { teamId, id }: { teamId: string; id: string },
  now: number,
): Promise<Topic | undefined> {
  const row = await db
    .updateTable('topics')
    .set({ deleted_at: now, updated_at: now })
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
  if (!row) return undefined
  const topic = toTopic(row)
  await deleteCounts(db, teamId, id)
  recordTopic(db, 'topic.deleted', topic, now)
  return topic
}

/** Lists every topic, newest first, with a contact's subscription. */
export async function listContactTopics(
  db: Db,
  { teamId, contactId }: { teamId: string; contactId: string },
): Promise<ContactTopic[]> {
  const choices = (await getChoices(db, [contactId])).get(contactId)
  return (await getTopics(db, teamId)).map((topic) => {
    const choice = choices?.get(topic.id)
    return { ...topic, subscription: effectiveSubscription(choice, topic), choice: choice ?? null }
  })
}

/** Stores choices of one contact, either all or none. Records `contact.topics.updated`. */
async function setContactTopics(
  db: Db,
  {
    teamId,
    ref,
    topics,
    act,
  }: { teamId: string; ref: ContactRef; topics: RequestedChoice[]; act: ConsentContext },
  now: number,
): Promise<Contact | MissingRef | undefined> {
  const contact = await getContact(db, { teamId, ref })
  if (!contact) return undefined
  const missing = await findMissingRef(db, teamId, { segmentIds: [], topics })
  if (missing) return missing
  await recordChoiceEvent(db, contact, await applyChoices(db, contact, topics, act, now), now)
  return contact
}

/** A recipient, and whether it gets mail about a topic. */
export interface TopicRecipient {
  /** The address as given. */
  address: string
  /** ID of the contact; null if the address has none. */
  contactId: string | null
  subscription: Subscription
}

/**
 * Returns whether addresses get mail about a topic. They don't after an opt-out of everything or of the topic, even if
 * the contact was deleted or erased; otherwise, the choice or the default applies. Undefined if the team doesn't have
 * the topic.
 * @param addresses at most 150, with their domains in A-labels
 */
async function topicRecipients(
  db: Db,
  { teamId, topicId, addresses }: { teamId: string; topicId: string; addresses: string[] },
): Promise<TopicRecipient[] | undefined> {
  const [topic] = await getTopics(db, teamId, topicId)
  if (!topic) return undefined
  const contacts = await findContactsByKey(db, teamId, addresses.map(toSuppressionKey))
  const choices = await getChoices(
    db,
    [...contacts.values()].map(({ id }) => id),
  )
  const found: TopicRecipient[] = []
  for (const address of addresses) {
    const contact = contacts.get(toSuppressionKey(address))
    const out = contact ? contact.optOut !== null : await wasOptedOut(db, teamId, address, topicId)
    const choice = contact && choices.get(contact.id)?.get(topicId)
    const subscription = out ? 'opt_out' : effectiveSubscription(choice, topic)
    found.push({ address, contactId: contact?.id ?? null, subscription })
  }
  return found
}

async function wasOptedOut(db: Db, teamId: string, address: string, topicId: string): Promise<boolean> {
  const kept = await getKeptOptOuts(db, teamId, address)
  if (!kept) return false
  return kept.ofAll !== null || kept.topics.some((one) => one.topicId === topicId)
}

export const methods = {
  reads: { listTopics, getTopic, listContactTopics, topicRecipients },
  writes: { createTopic, updateTopic, deleteTopic, setContactTopics },
}
