/** Segments: sets of contacts. */
import { Type, type Static } from 'typebox'
import type { SizedSegment } from '../storage/storage.ts'
import { ContactList, contactPage } from './contacts.ts'
import { operationsIn } from './operation.ts'
import { byId, query, shortPage } from './parameters.ts'
import { integer, kind, Nullable, object, optionalOrNull, record, string } from './schemas.ts'
import { Deleted, Id, listOf, Timestamp } from './shared.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'

const reference = { object: kind('segment'), id: Id }
export const segmentName = string('Name, at most 255 characters.', { examples: ['Newsletter'] })

const rules = record(
  Type.Unknown(),
  'A rule (`type` rule, `field`, `operator`, `value`), or rules joined by `type` and or or (`rules`). See docs/audience.md. Not part of the hosted API.',
  { examples: [{ type: 'rule', field: 'contact.properties.plan', operator: 'eq', value: 'pro' }] },
)

export const CreateSegment = object('A segment to create.', {
  name: segmentName,
  filter: optionalOrNull(rules, 'Who is in it, by rules; null: contacts are added to it.'),
})
export type CreateSegment = Static<typeof CreateSegment>
export const SegmentCreated = object('The new segment.', { ...reference, name: segmentName })
export const UpdateSegment = object('What to change.', {
  name: optionalOrNull(segmentName, 'A new name; null: unchanged.'),
  filter: optionalOrNull(rules, 'Other rules, for a segment with rules; null: unchanged.'),
})
export const SegmentRef = object('The segment.', reference)

/** The common fields of segments and audiences. */
export const segmentSummary = {
  id: Id,
  name: segmentName,
  created_at: Timestamp,
  contacts: integer('Number of contacts in it.'),
  filter: Nullable(rules, 'Who is in it, by rules; null: contacts are added to it.'),
  counted_at: Nullable(
    Timestamp,
    'When contacts who meet its rules were last counted; a new count may be under way. null: not counted yet, or no rules.',
  ),
}
export const SegmentSummary = object('A segment.', segmentSummary)
export type SegmentSummary = Static<typeof SegmentSummary>
export const SegmentList = listOf(SegmentSummary, 'segments')
export const Segment = object('A segment.', { object: kind('segment'), ...segmentSummary })
export const SegmentDeleted = object('The deleted segment.', { ...reference, deleted: Deleted })

const operation = operationsIn('Segments')

export const createSegment = operation('POST /segments', {
  summary: 'Create a segment',
  description: 'A team can have at most 1,000, of which 100 have a `filter`.',
  body: CreateSegment,
  response: { 201: SegmentCreated },
})
export const listSegments = operation('GET /segments', {
  summary: 'List segments',
  querystring: query(shortPage),
  response: { 200: SegmentList },
})
export const getSegment = operation('GET /segments/:id', {
  summary: 'Get a segment',
  params: byId,
  response: { 200: Segment },
})
export const updateSegment = operation('PATCH /segments/:id', {
  summary: 'Change a segment',
  description: 'A segment keeps its kind: with rules, or without.',
  params: byId,
  body: UpdateSegment,
  response: { 200: SegmentRef },
})
export const deleteSegment = operation('DELETE /segments/:id', {
  summary: 'Delete a segment',
  description: 'Its contacts stay. Succeeds also for a segment that does not exist.',
  params: byId,
  response: { 200: SegmentDeleted },
})
export const listSegmentContacts = operation('GET /segments/:id/contacts', {
  summary: 'List the contacts of a segment',
  params: byId,
  querystring: query(contactPage),
  response: { 200: ContactList },
})

export const presentSegment = (segment: SizedSegment): SegmentSummary => ({
  id: segment.id,
  name: segment.name,
  created_at: timestamp(segment.createdAt),
  contacts: segment.contacts,
  filter: segment.filter && { ...segment.filter },
  counted_at: timestampOrNull(segment.countedAt),
})
