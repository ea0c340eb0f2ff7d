/** A contact's segments, topics and consent log. */
import { Type, type Static } from 'typebox'
import { CONSENT_ORIGINS, SUBSCRIPTIONS } from '../mail/audience.ts'
import type {
  Consent as StoredConsent,
  ContactSegment,
  ContactTopic as StoredTopic,
} from '../storage/storage.ts'
import { contactParams } from './contacts.ts'
import { operationsIn } from './operation.ts'
import { idSchema, page, path, pathId, pathText, query, shortPage } from './parameters.ts'
import { array, arrayOfObjects, kind, literals, Nullable, object, string } from './schemas.ts'
import { Deleted, Id, listOf, Timestamp } from './shared.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'

export const ContactSegmentSummary = object('A segment that the contact is in.', {
  id: Id,
  name: string('Name of the segment.'),
  created_at: Type.Unsafe<string>({ ...Timestamp, description: 'When the contact was added.' }),
})
export const ContactSegmentList = listOf(ContactSegmentSummary, "the contact's segments")

const membership = {
  object: kind('contact_segment'),
  id: idSchema('The segment.'),
  contact_id: idSchema('The contact.'),
  segment_id: idSchema('The segment.'),
}
export const ContactSegmentAdded = object('The contact is in the segment.', membership)
export const ContactSegmentRemoved = object('The contact is not in the segment.', {
  ...membership,
  deleted: Deleted,
})

const subscription = literals(SUBSCRIPTIONS, 'Whether the contact gets mail about the topic.')
export const ContactTopicSummary = object('A topic, and whether the contact gets it.', {
  id: Id,
  name: string('Name of the topic.'),
  description: Nullable(Type.String(), 'Description of the topic.'),
  subscription,
  created_at: Timestamp,
  chosen_at: Nullable(Timestamp, 'When the contact chose; null: the default of the topic applies.'),
  chosen_by: Nullable(literals(CONSENT_ORIGINS), 'Whose decision that was.'),
})
export type ContactTopicSummary = Static<typeof ContactTopicSummary>
export const ContactTopicList = listOf(ContactTopicSummary, "the contact's topics")

const choice = object('A choice.', { id: string('Topic id.'), subscription })
const choices = array(choice, 'Choices for topics.', { maxItems: 100 })
/**
 * PATCH /contacts/:id/topics: a list, as all clients send it, or an object with one, as the hosted service documents
 * it.
 */
export const UpdateContactTopics = Type.Union([choices, Type.Object({ topics: choices })], {
  description: 'Choices for topics: a list, or an object with the list as `topics`.',
})
export type UpdateContactTopics = Static<typeof UpdateContactTopics>

export const ContactTopicsUpdated = object('The stored choices.', {
  object: kind('contact_topics'),
  id: idSchema('The contact.'),
  contact_id: idSchema('The contact.'),
  topics: arrayOfObjects('The choices.', { id: Id, subscription }),
})

/** An element of GET /contacts/:id/consents. Not part of the hosted API. */
export const ContactConsent = object('A change of a subscription.', {
  id: Id,
  topic_id: Nullable(Type.String(), 'The topic; null: everything.'),
  was: Nullable(literals(SUBSCRIPTIONS), 'The choice before; null: none.'),
  subscription: literals(SUBSCRIPTIONS, 'The choice from then on.'),
  origin: literals(CONSENT_ORIGINS, 'Whose decision it was.'),
  via: string('The means.', { examples: ['one_click'] }),
  source_id: Nullable(Type.String(), 'The API key, user, import or email; null: none.'),
  ip: Nullable(Type.String(), "The person's IP address; null: unknown."),
  user_agent: Nullable(Type.String(), "The person's user agent; null: unknown."),
  wording_id: Nullable(Type.String(), 'The text that the person saw, or its version; null: unknown.'),
  created_at: Timestamp,
})
export type ContactConsent = Static<typeof ContactConsent>
export const ContactConsentList = listOf(ContactConsent, "changes of the contact's subscriptions")

const membershipParams = path({ id: pathText("The contact's id or address."), segment_id: pathId })
const operation = operationsIn('Contacts')

export const listContactSegments = operation('GET /contacts/:id/segments', {
  summary: "List a contact's segments",
  params: contactParams,
  querystring: query(page),
  response: { 200: ContactSegmentList },
})
export const addContactToSegment = operation('POST /contacts/:id/segments/:segment_id', {
  summary: 'Add a contact to a segment',
  params: membershipParams,
  response: { 200: ContactSegmentAdded },
})
export const removeContactFromSegment = operation('DELETE /contacts/:id/segments/:segment_id', {
  summary: 'Remove a contact from a segment',
  params: membershipParams,
  response: { 200: ContactSegmentRemoved },
})
export const listContactTopics = operation('GET /contacts/:id/topics', {
  summary: "List a contact's topics",
  description: 'Every topic, with the choice of the contact or else the default of the topic.',
  params: contactParams,
  querystring: query(shortPage),
  response: { 200: ContactTopicList },
})
export const updateContactTopics = operation('PATCH /contacts/:id/topics', {
  summary: "Change a contact's topics",
  description: 'Sets choices for topics, all or none.',
  params: contactParams,
  body: UpdateContactTopics,
  response: { 200: ContactTopicsUpdated },
})
export const listContactConsents = operation('GET /contacts/:id/consents', {
  summary: "List changes of a contact's subscriptions",
  description:
    'Also those of earlier contacts with the same address; at most 1,000, newest first. Not part of the hosted API.',
  params: contactParams,
  querystring: query(shortPage),
  response: { 200: ContactConsentList },
})

export const presentContactSegment = ({ id, name, addedAt }: ContactSegment) => ({
  id,
  name,
  created_at: timestamp(addedAt),
})

export const presentMembership = (contactId: string, segmentId: string) => ({
  object: 'contact_segment' as const,
  id: segmentId,
  contact_id: contactId,
  segment_id: segmentId,
})

export const presentContactTopic = (topic: StoredTopic): ContactTopicSummary => ({
  id: topic.id,
  name: topic.name,
  description: topic.description,
  subscription: topic.subscription,
  created_at: timestamp(topic.createdAt),
  chosen_at: timestampOrNull(topic.choice?.changedAt ?? null),
  chosen_by: topic.choice?.origin ?? null,
})

export const presentConsent = (one: StoredConsent): ContactConsent => ({
  id: one.id,
  topic_id: one.topicId,
  was: one.was,
  subscription: one.subscription,
  origin: one.origin,
  via: one.via,
  source_id: one.source,
  ip: one.ip,
  user_agent: one.userAgent,
  wording_id: one.wording,
  created_at: timestamp(one.at),
})
