/** Contacts: people that a team writes to. Their segments and topics: contact-details.ts. */
import { Type, type Static } from 'typebox'
import type { ContactDetails } from '../audience/audience.ts'
import { CONSENT_ORIGINS, PROPERTY_TYPES, SUBSCRIPTIONS } from '../mail/audience.ts'
import { formatCsvRecord } from '../mail/csv.ts'
import { toSuppressionKey } from '../mail/suppression.ts'
import type { Contact as StoredContact, ContactContext, ContactProperty } from '../storage/storage.ts'
import { operationsIn, nonJsonContent } from './operation.ts'
import { afterParameter, limit, page, path, pathText, query, search } from './parameters.ts'
import {
  array,
  arrayOfObjects,
  boolean,
  integer,
  kind,
  literals,
  Nullable,
  object,
  optionalOrNull,
  optionalText,
  record,
  string,
} from './schemas.ts'
import { Deleted, Id, listOf, Timestamp } from './shared.ts'
import { isoTimestamp, timestamp, timestampOrNull } from './timestamp.ts'
import { filter, conditions } from './contact-search.ts'

const reference = { object: kind('contact'), id: Id }
export const ContactRef = object('The contact.', reference)

const names = {
  first_name: optionalText('First name.'),
  last_name: optionalText('Last name.'),
}
const properties = optionalOrNull(
  Type.Record(Type.String(), Type.Unknown({ description: 'A string or a number.' })),
  'Values by the key of the contact property. null removes a value.',
)
const choices = array(
  Type.Object({
    id: string('Topic id.'),
    subscription: literals(SUBSCRIPTIONS, 'Whether the contact gets mail about the topic.'),
  }),
  'Choices for topics.',
  { maxItems: 100 },
)

/** The fields for creating a contact in an audience (audiences.ts); POST /contacts also takes segments and topics. */
export const contactFields = {
  email: string('Email address.', { examples: ['ada@example.com'] }),
  ...names,
  unsubscribed: optionalOrNull(
    Type.Boolean(),
    'true: gets no broadcasts. false doesn’t lift the opt-out of an existing contact; to lift it, change the contact.',
  ),
  properties,
}

export const CreateContact = object('A contact to create.', {
  ...contactFields,
  segments: optionalOrNull(
    Type.Array(Type.Union([Type.String(), Type.Object({ id: string('Segment id.') })]), {
      maxItems: 1000,
    }),
    'Segments to add the contact to: ids, or objects with an `id`.',
  ),
  topics: optionalOrNull(choices, 'Choices for topics.'),
  audience_id: optionalText('A segment to add the contact to. Deprecated: use `segments`.'),
})

export const UpdateContact = object('What to change. Other fields stay the same.', {
  email: optionalText('A new address. Not another contact’s.'),
  first_name: optionalText('First name; null removes it.'),
  last_name: optionalText('Last name; null removes it.'),
  unsubscribed: optionalOrNull(
    Type.Boolean(),
    'true: gets no broadcasts. false: subscribes again, also who opted out.',
  ),
  properties,
})
export type UpdateContact = Static<typeof UpdateContact>

const summary = {
  id: Id,
  email: string('Email address.'),
  first_name: Nullable(Type.String(), 'First name.'),
  last_name: Nullable(Type.String(), 'Last name.'),
  created_at: Timestamp,
  unsubscribed: boolean('Whether the contact opted out of all broadcasts.'),
}
export const ContactSummary = object('A contact.', summary)
export type ContactSummary = Static<typeof ContactSummary>
export const ContactList = listOf(ContactSummary, 'contacts')

const origin = literals(
  CONSENT_ORIGINS,
  'person: the contact · api: an app · import: an imported file · complaint: a spam report · operator: a member of the team.',
)
const engagement = {
  last_opened_at: Nullable(
    Timestamp,
    'When a person, not a bot, last opened an email to the contact; null: never.',
  ),
  last_clicked_at: Nullable(
    Timestamp,
    'When a person, not a bot, last clicked a link in an email to the contact; null: never.',
  ),
}
export const Contact = object('A contact.', {
  object: kind('contact'),
  ...summary,
  updated_at: Timestamp,
  unsubscribed_at: Nullable(Timestamp, 'When the contact opted out; null: subscribed.'),
  unsubscribed_by: Nullable(origin, 'Whose decision that was.'),
  created_by: origin,
  ...engagement,
  properties: record(
    Type.Object({
      type: literals(PROPERTY_TYPES, 'Type of the property.'),
      value: Type.Union([Type.String(), Type.Number()], { description: 'The value.' }),
    }),
    'Values by the key of the contact property.',
  ),
})
export type Contact = Static<typeof Contact>

export const FoundContact = object('A contact that was found.', {
  ...summary,
  unsubscribed_at: Nullable(Timestamp, 'When the contact opted out; null: subscribed.'),
  unsubscribed_by: Nullable(origin, 'Whose decision that was.'),
  ...engagement,
  suppressed: boolean('Whether the address is on the suppression list.'),
  segments: arrayOfObjects('The segments of the contact, by name.', {
    id: Id,
    name: string('Name of the segment.'),
  }),
})
export type FoundContact = Static<typeof FoundContact>

/** GET /contacts/search. Not part of the hosted API. */
export const ContactSearch = object(
  'Search results. Each request scans a limited number of contacts, so a page can be short or empty without being the last.',
  {
    object: kind('list'),
    has_more: boolean('Whether there are contacts that were not searched yet.'),
    data: array(FoundContact, 'Matching contacts, newest first.'),
    next: Nullable(
      Id,
      'Cursor for the next page: pass it as `after`. It may be the id of a contact that is not on this page. Null: no more results.',
    ),
  },
)

export type ContactSearch = Static<typeof ContactSearch>

export const ContactDeleted = object('The deleted contact.', {
  ...reference,
  contact: string('The id again, for older clients.'),
  deleted: Deleted,
})

export const contactParams = path({ id: pathText("The contact's id or address.") })
const operation = operationsIn('Contacts')

const MOST = 100
/** Without a limit, older clients expect all contacts. */
const manyContacts: typeof limit = {
  schema: integer(`How many, from 1 to ${MOST}.`, { minimum: 1, maximum: MOST, default: MOST }),
  read: (given, name) => limit.read(given ?? String(MOST), name),
}
/** The parameters of a page of contacts. */
export const contactPage = { ...page, limit: manyContacts }

export const createContact = operation('POST /contacts', {
  summary: 'Create a contact',
  description:
    'If the address is already a contact, it is changed instead: given fields are set, segments are added. An opt-out always stays, also the one of an earlier contact with the address.',
  body: CreateContact,
  response: { 201: ContactRef },
})
export const listContacts = operation('GET /contacts', {
  summary: 'List contacts',
  querystring: query({ ...contactPage, ...filter }),
  response: { 200: ContactList },
})
export const searchContacts = operation('GET /contacts/search', {
  summary: 'Search contacts',
  description:
    'By a part of the address or name, segment, topic, opt-out, suppression and rules. Without conditions: all. Not part of the hosted API.',
  querystring: search({ limit, after: afterParameter, ...conditions }),
  response: { 200: ContactSearch },
})
export const exportContacts = operation('GET /contacts/export.csv', {
  summary: 'Export contacts',
  description:
    'All contacts, newest first, with their properties. Only owners and admins, and API keys with full access. Not part of the hosted API.',
  querystring: query(filter),
  response: { 200: nonJsonContent('text/csv', 'The contacts, with a header row.') },
})
export const getContact = operation('GET /contacts/:id', {
  summary: 'Get a contact',
  params: contactParams,
  response: { 200: Contact },
})
export const updateContact = operation('PATCH /contacts/:id', {
  summary: 'Change a contact',
  description:
    'The only request that lifts an opt-out (`"unsubscribed": false`). When the address changes, its opt-outs stay with it.',
  params: contactParams,
  body: UpdateContact,
  errors: ['409'],
  response: { 200: ContactRef },
})
export const deleteContact = operation('DELETE /contacts/:id', {
  summary: 'Delete a contact',
  description:
    'What the contact opted out of is kept under a hash of the address: a contact that is created again is still opted out.',
  params: contactParams,
  response: { 200: ContactDeleted },
})

/** Returns the segment ids in a request: strings or objects with an id. */
export const extractSegmentIds = ({
  segments,
  audience_id: audienceId,
}: Pick<Static<typeof CreateContact>, 'segments' | 'audience_id'>): string[] => [
  ...(segments ?? []).map((one) => (typeof one === 'string' ? one : one.id)),
  ...(audienceId ? [audienceId] : []),
]

export function presentContactSummary(contact: StoredContact): ContactSummary {
  return {
    id: contact.id,
    email: contact.email,
    first_name: contact.firstName,
    last_name: contact.lastName,
    created_at: timestamp(contact.createdAt),
    unsubscribed: contact.optOut !== null,
  }
}

const presentEngagement = ({ lastOpenedAt, lastClickedAt }: StoredContact) => ({
  last_opened_at: timestampOrNull(lastOpenedAt),
  last_clicked_at: timestampOrNull(lastClickedAt),
})

export const presentFoundContact = (
  contact: StoredContact,
  { segments, suppressed }: ContactContext,
): FoundContact => ({
  ...presentContactSummary(contact),
  unsubscribed_at: timestampOrNull(contact.optOut?.at ?? null),
  unsubscribed_by: contact.optOut?.origin ?? null,
  ...presentEngagement(contact),
  suppressed: suppressed.has(toSuppressionKey(contact.email)),
  segments: segments.get(contact.id) ?? [],
})

export function presentContact(contact: ContactDetails): Contact {
  const { optOut, values } = contact
  return {
    object: 'contact',
    ...presentContactSummary(contact),
    updated_at: timestamp(contact.updatedAt),
    unsubscribed_at: timestampOrNull(optOut?.at ?? null),
    unsubscribed_by: optOut?.origin ?? null,
    created_by: contact.createdBy,
    ...presentEngagement(contact),
    properties: Object.fromEntries(values.map(({ key, type, value }) => [key, { type, value }])),
  }
}

export const presentContactRef = ({ id }: { id: string }) => ({ object: 'contact' as const, id })

/** Formats the response of DELETE /contacts/:id. @param id as in the request, because older clients expect that */
export const presentContactDeleted = (id: string) => ({
  object: 'contact' as const,
  id,
  contact: id,
  deleted: true as const,
})

const COLUMNS = ['id', 'email', 'first_name', 'last_name', 'unsubscribed', 'created_at']

/** The header row of an export. */
export const formatContactHeader = (properties: readonly ContactProperty[]): string =>
  formatCsvRecord([...COLUMNS, ...properties.map(({ key }) => key)])

/** Formats a contact as a CSV row. */
export const formatContactRow = (properties: readonly ContactProperty[], contact: StoredContact): string =>
  formatCsvRecord([
    contact.id,
    contact.email,
    contact.firstName ?? '',
    contact.lastName ?? '',
    String(contact.optOut !== null),
    isoTimestamp(contact.createdAt),
    ...properties.map(({ label }) =>
      Object.hasOwn(contact.properties, label) ? String(contact.properties[label]) : '',
    ),
  ])
