/** Topics: subjects that contacts can subscribe to. */
import { Type, type Static } from 'typebox'
import { SUBSCRIPTIONS, VISIBILITIES } from '../mail/audience.ts'
import type { CountedTopic } from '../storage/storage.ts'
import { operationsIn } from './operation.ts'
import { byId, query, shortPage } from './parameters.ts'
import { integer, kind, literals, Nullable, object, optionalOrNull, optionalText, string } from './schemas.ts'
import { Deleted, Id, listOf, Timestamp } from './shared.ts'
import { timestamp } from './timestamp.ts'

const reference = { object: kind('topic'), id: Id }
const name = string('Name, at most 50 characters.', { examples: ['Product updates'] })
const VISIBILITY =
  'public: shown to everyone on the preference page · private: shown only to those who are subscribed. Default: private.'
const visibility = literals(VISIBILITIES, VISIBILITY)
const byDefault = literals(
  SUBSCRIPTIONS,
  'opt_in: everyone gets it until they opt out, also contacts that existed before · opt_out: only those who subscribed. Cannot be changed later.',
)

export const CreateTopic = object('A topic to create.', {
  name,
  default_subscription: byDefault,
  description: optionalText('At most 200 characters.'),
  visibility: optionalOrNull(visibility, VISIBILITY),
})
export const UpdateTopic = object('What to change. Other fields stay the same.', {
  name: optionalText('A new name; null: unchanged.'),
  description: optionalText('A new description; null removes it.'),
  visibility: optionalOrNull(visibility, VISIBILITY),
})
export const TopicRef = object('The topic.', reference)

const summary = {
  id: Id,
  name,
  description: Nullable(Type.String(), 'What it is about; null: none.'),
  default_subscription: byDefault,
  visibility,
  created_at: Timestamp,
  opted_in: integer('Contacts that subscribed to it.'),
  opted_out: integer('Contacts that opted out of it.'),
}
export const TopicSummary = object('A topic.', summary)
export type TopicSummary = Static<typeof TopicSummary>
export const TopicList = listOf(TopicSummary, 'topics')
export const Topic = object('A topic.', { object: kind('topic'), ...summary })
export const TopicDeleted = object('The deleted topic.', { ...reference, deleted: Deleted })

const operation = operationsIn('Topics')

export const createTopic = operation('POST /topics', {
  summary: 'Create a topic',
  description: 'A team can have at most 100.',
  body: CreateTopic,
  response: { 201: TopicRef },
})
export const listTopics = operation('GET /topics', {
  summary: 'List topics',
  querystring: query(shortPage),
  response: { 200: TopicList },
})
export const getTopic = operation('GET /topics/:id', {
  summary: 'Get a topic',
  params: byId,
  response: { 200: Topic },
})
export const updateTopic = operation('PATCH /topics/:id', {
  summary: 'Change a topic',
  params: byId,
  body: UpdateTopic,
  response: { 200: TopicRef },
})
export const deleteTopic = operation('DELETE /topics/:id', {
  summary: 'Delete a topic',
  description: 'The choices of contacts for it are deleted.',
  params: byId,
  response: { 200: TopicDeleted },
})

export const presentTopic = (topic: CountedTopic): TopicSummary => ({
  id: topic.id,
  name: topic.name,
  description: topic.description,
  default_subscription: topic.defaultSubscription,
  visibility: topic.visibility,
  created_at: timestamp(topic.createdAt),
  opted_in: topic.optedIn,
  opted_out: topic.optedOut,
})
