/** The properties of contacts. */
import { Type, type Static } from 'typebox'
import { PROPERTY_TYPES } from '../mail/audience.ts'
import type { ContactProperty as StoredProperty, PropertyUse } from '../storage/storage.ts'
import { operationsIn } from './operation.ts'
import { byId, query, shortPage } from './parameters.ts'
import { array, arrayOfObjects, kind, literals, Nullable, object, string } from './schemas.ts'
import { Deleted, Id, listOf, Timestamp } from './shared.ts'
import { timestamp } from './timestamp.ts'

const reference = { object: kind('contact_property'), id: Id }
const key = string(
  'Case-sensitive: at most 50 ASCII letters, digits and underscores. Cannot be changed later.',
  { examples: ['company_name'] },
)
const type = literals(PROPERTY_TYPES, 'Type of its values. Cannot be changed later.')
const value = Type.Union([Type.String(), Type.Number()])
const fallback = Nullable(
  value,
  'Used for contacts without a value; has the type of the property. null: nothing.',
)

export const CreateContactProperty = object('A property to create.', {
  key,
  type,
  fallback_value: Type.Optional(fallback),
})
export const UpdateContactProperty = object('A new fallback.', { fallback_value: Type.Optional(fallback) })
export const ContactPropertyRef = object('The property.', reference)

const summary = { id: Id, key, type, fallback_value: fallback, created_at: Timestamp }
export const ContactPropertySummary = object('A property.', summary)
export type ContactPropertySummary = Static<typeof ContactPropertySummary>
export const ContactPropertyList = listOf(ContactPropertySummary, 'contact properties')
export const ContactProperty = object('A property.', {
  object: kind('contact_property'),
  ...summary,
  examples: array(
    value,
    'Up to 3 different values that contacts have, the newest contacts first. Only the newest 1,000 contacts are searched. Not part of the hosted API.',
  ),
  used_in: arrayOfObjects(
    'Templates, broadcasts that are not sent yet, rules of segments, sign-up forms and automations that use it; at most 20 of each, newest first. Not part of the hosted API.',
    {
      object: literals(['template', 'broadcast', 'segment', 'form', 'automation'], 'What it is.'),
      id: Id,
      name: string('Its name.'),
    },
  ),
})
export const ContactPropertyDeleted = object('The deleted property.', { ...reference, deleted: Deleted })

const operation = operationsIn('Contact properties')

export const createContactProperty = operation('POST /contact-properties', {
  summary: 'Create a contact property',
  description: 'A team can have at most 200.',
  body: CreateContactProperty,
  errors: ['409'],
  response: { 201: ContactPropertyRef },
})
export const listContactProperties = operation('GET /contact-properties', {
  summary: 'List contact properties',
  querystring: query(shortPage),
  response: { 200: ContactPropertyList },
})
export const getContactProperty = operation('GET /contact-properties/:id', {
  summary: 'Get a contact property',
  params: byId,
  response: { 200: ContactProperty },
})
export const updateContactProperty = operation('PATCH /contact-properties/:id', {
  summary: 'Change the fallback of a contact property',
  params: byId,
  body: UpdateContactProperty,
  response: { 200: ContactPropertyRef },
})
export const deleteContactProperty = operation('DELETE /contact-properties/:id', {
  summary: 'Delete a contact property',
  description: 'Contacts lose their values for it.',
  params: byId,
  response: { 200: ContactPropertyDeleted },
})

export const presentPropertyUse = ({ kind: object, id, name }: PropertyUse) => ({ object, id, name })

export const presentProperty = (property: StoredProperty): ContactPropertySummary => ({
  id: property.id,
  key: property.key,
  type: property.type,
  fallback_value: property.fallback,
  created_at: timestamp(property.createdAt),
})
