/** Custom events: events about contacts that apps send. */
import { Type, type Static } from 'typebox'
import { EVENT_FIELD_TYPES } from '../mail/custom-event.ts'
import type { CustomEvent, SentEvent as StoredSentEvent } from '../storage/storage.ts'
import { operationsIn } from './operation.ts'
import { page, path, pathText, query } from './parameters.ts'
import { kind, literals, Nullable, object, optionalOrNull, optionalText, record, string } from './schemas.ts'
import { Deleted, Id, listOf, Timestamp } from './shared.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'

const reference = { object: kind('event'), id: Id }
const eventName = string('Name, at most 255 characters, not starting with `resend:`.', {
  examples: ['user.created'],
})

const schemaInput = Nullable(Type.Record(Type.String(), Type.Unknown()), {
  description: `The type of each field of the payload, at most 100: ${EVENT_FIELD_TYPES.join(', ')}. null: any payload.`,
  examples: [{ plan: 'string', seats: 'number', trial: 'boolean', renews_at: 'date' }],
})

export const CreateEvent = object('A custom event to define.', {
  name: eventName,
  schema: Type.Optional(schemaInput),
})
export const UpdateEvent = object('The new schema, required: the only thing that can be changed.', {
  schema: Type.Optional(schemaInput),
})
export const EventRef = object('The event.', reference)
export const EventDeleted = object('The deleted event.', { ...reference, deleted: Deleted })

const summary = {
  id: Id,
  name: eventName,
  schema: Nullable(
    Type.Record(Type.String(), literals(EVENT_FIELD_TYPES)),
    'The type of each field of the payload; null: any payload.',
  ),
  created_at: Timestamp,
  updated_at: Nullable(Timestamp, 'When the schema was last changed; null: never.'),
}
export const EventSummary = object('A custom event.', summary)
export type EventSummary = Static<typeof EventSummary>
export const EventList = listOf(EventSummary, 'custom events')
export const Event = object('A custom event.', { object: kind('event'), ...summary })

export const payloadInput = optionalOrNull(
  Type.Record(Type.String(), Type.Unknown()),
  'Values for automations, at most 32,768 characters as JSON.',
)

export const SendEvent = object('An event to send.', {
  event: string('The name of the event.'),
  contact_id: optionalText('The contact that it is about. Either this or `email`.'),
  email: optionalText('The address that it is about. It doesn’t have to be a contact.'),
  payload: payloadInput,
})
export const EventSent = object('The accepted event.', {
  object: kind('event'),
  event: string('The name of the event.'),
})

export const SentEvent = object('An event that an app sent.', {
  id: Id,
  event: string('The name of the event.'),
  contact_id: Nullable(Id, 'Its contact; null: the address was no contact.'),
  email: string('The address of its contact at that time, or the given one.'),
  payload: record(Type.Unknown(), 'The given values.'),
  created_at: Timestamp,
})
export type SentEvent = Static<typeof SentEvent>
export const SentEventList = listOf(SentEvent, 'sent events')

const params = path({ identifier: pathText('The id or name of the event.') })
const operation = operationsIn('Events')

export const createEvent = operation('POST /events', {
  summary: 'Define a custom event',
  description: 'A team can have at most 1,000.',
  body: CreateEvent,
  response: { 201: EventRef },
  errors: ['409'],
})
export const listEvents = operation('GET /events', {
  summary: 'List custom events',
  querystring: query(page),
  response: { 200: EventList },
})
export const sendEvent = operation('POST /events/send', {
  summary: 'Send a custom event',
  description:
    'A payload that does not match the schema of the event is refused. Events that are not defined take any payload. A team can send 100,000 a day (UTC). They are kept for 30 days.',
  body: SendEvent,
  response: { 202: EventSent },
  errors: ['404'],
})
export const getEvent = operation('GET /events/:identifier', {
  summary: 'Get a custom event',
  params,
  response: { 200: Event },
})
export const updateEvent = operation('PATCH /events/:identifier', {
  summary: 'Change the schema of a custom event',
  description: 'Applies to events that are sent from now on.',
  params,
  body: UpdateEvent,
  response: { 200: EventRef },
})
export const deleteEvent = operation('DELETE /events/:identifier', {
  summary: 'Delete a custom event',
  description: 'Its sent events stay. It can still be sent, with any payload.',
  params,
  response: { 200: EventDeleted },
})
export const listSentEvents = operation('GET /events/:identifier/sent', {
  summary: 'List the sent events of one name',
  description: 'The last 30 days. Not part of the hosted API.',
  params,
  querystring: query(page),
  response: { 200: SentEventList },
})

export const presentEvent = (event: CustomEvent): EventSummary => ({
  id: event.id,
  name: event.name,
  schema: event.schema,
  created_at: timestamp(event.createdAt),
  updated_at: timestampOrNull(event.updatedAt),
})

export const presentSentEvent = (sent: StoredSentEvent): SentEvent => ({
  id: sent.id,
  event: sent.name,
  contact_id: sent.contactId,
  email: sent.email,
  payload: sent.payload,
  created_at: timestamp(sent.createdAt),
})
