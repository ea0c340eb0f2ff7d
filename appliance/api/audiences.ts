/** Audiences: the older clients' name for segments, with their contacts. */
import {
  Contact,
  ContactDeleted,
  contactFields,
  ContactList,
  contactPage,
  ContactRef,
  UpdateContact,
} from './contacts.ts'
import { operationsIn } from './operation.ts'
import { byId, path, pathText, pathUuid, query, shortPage } from './parameters.ts'
import { CreateSegment, segmentName, segmentSummary } from './segments.ts'
import { kind, object } from './schemas.ts'
import { Deleted, Id, listOf } from './shared.ts'

const reference = { object: kind('audience'), id: Id }
export const AudienceCreated = object('The new segment.', { ...reference, name: segmentName })
export const AudienceSummary = object('A segment.', segmentSummary)
export const AudienceList = listOf(AudienceSummary, 'segments')
export const Audience = object('A segment.', { object: kind('audience'), ...segmentSummary })
export const AudienceDeleted = object('The deleted segment.', { ...reference, deleted: Deleted })
export const CreateAudienceContact = object('A contact to create.', contactFields)

const audience = pathUuid('The segment.')
const contactsParams = path({ audience_id: audience })
const contactParams = path({ audience_id: audience, id: pathText("The contact's id or address.") })
const operation = operationsIn('Segments')

export const createAudience = operation('POST /audiences', {
  deprecated: true,
  summary: 'Create a segment (older name)',
  body: CreateSegment,
  response: { 201: AudienceCreated },
})
export const listAudiences = operation('GET /audiences', {
  deprecated: true,
  summary: 'List segments (older name)',
  querystring: query(shortPage),
  response: { 200: AudienceList },
})
export const getAudience = operation('GET /audiences/:id', {
  deprecated: true,
  summary: 'Get a segment (older name)',
  params: byId,
  response: { 200: Audience },
})
export const deleteAudience = operation('DELETE /audiences/:id', {
  deprecated: true,
  summary: 'Delete a segment (older name)',
  description: 'Its contacts stay. Succeeds also for a segment that does not exist.',
  params: byId,
  response: { 200: AudienceDeleted },
})
export const createAudienceContact = operation('POST /audiences/:audience_id/contacts', {
  deprecated: true,
  summary: 'Create a contact in a segment (older path)',
  description: 'As `POST /contacts` with this segment.',
  params: contactsParams,
  body: CreateAudienceContact,
  response: { 201: ContactRef },
})
export const listAudienceContacts = operation('GET /audiences/:audience_id/contacts', {
  deprecated: true,
  summary: 'List the contacts of a segment (older path)',
  params: contactsParams,
  querystring: query(contactPage),
  response: { 200: ContactList },
})
export const getAudienceContact = operation('GET /audiences/:audience_id/contacts/:id', {
  deprecated: true,
  summary: 'Get a contact of a segment (older path)',
  params: contactParams,
  response: { 200: Contact },
})
export const updateAudienceContact = operation('PATCH /audiences/:audience_id/contacts/:id', {
  deprecated: true,
  summary: 'Change a contact of a segment (older path)',
  params: contactParams,
  body: UpdateContact,
  errors: ['409'],
  response: { 200: ContactRef },
})
export const deleteAudienceContact = operation('DELETE /audiences/:audience_id/contacts/:id', {
  deprecated: true,
  summary: 'Remove a contact from a segment (older path)',
  description:
    'Deletes the contact if it is in no other segment. Succeeds also for a contact that does not exist.',
  params: contactParams,
  response: { 200: ContactDeleted },
})
