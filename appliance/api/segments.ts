/** Segments: sets of contacts. */
import { Type, type Static } from 'typebox'
import type { SizedSegment } from '../storage/storage.ts'
import { ContactList, contactPage } from './contacts.ts'
import { operationsIn } from './operation.ts'
import { path, pathId, query, shortPage } from './parameters.ts'
import { Deleted, Id, kind, listOf, Nullable, Timestamp } from './shared.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'

const reference = { object: kind('segment'), id: Id }
export const segmentName = Type.String({
  description: 'Name, at most 255 characters.',
  examples: ['Newsletter'],
})

const rules = Type.Record(Type.String(), Type.Unknown(), {
  description:
    'A rule (`type` rule, `field`, `operator`, `value`), or rules joined by `type` and or or (`rules`). See docs/audience.md. Not part of the hosted API.',
  examples: [{ type: 'rule', field: 'contact.properties.plan', operator: 'eq', value: 'pro' }],
})

/** POST /segments */
export const CreateSegment = Type.Object(
  {
    name: segmentName,
    filter: Type.Optional(
      Nullable(rules, { description: 'Who is in it, by rules; null: contacts are added to it.' }),
    ),
  },
  { description: 'A segment to create.' },
)
export type CreateSegment = Static<typeof CreateSegment>
export const SegmentCreated = Type.Object(
  { ...reference, name: segmentName },
  { description: 'The new segment.' },
)
/** PATCH /segments/:id */
export const UpdateSegment = Type.Object(
  {
    name: Type.Optional(Nullable(segmentName, { description: 'A new name; null: unchanged.' })),
    filter: Type.Optional(
      Nullable(rules, { description: 'Other rules, for a segment with rules; null: unchanged.' }),
    ),
  },
  { description: 'What to change.' },
)
export const SegmentRef = Type.Object(reference, { description: 'The segment.' })

/** The common fields of segments and audiences. */
export const segmentSummary = {
  id: Id,
  name: segmentName,
  created_at: Timestamp,
  contacts: Type.Integer({ description: 'Number of contacts in it.' }),
  filter: Nullable(rules, { description: 'Who is in it, by rules; null: contacts are added to it.' }),
  counted_at: Nullable(Timestamp, {
    description:
      'When contacts who meet its rules were last counted; a new count may be under way. null: not counted yet, or no rules.',
  }),
}
/** An element of GET /segments. */
export const SegmentSummary = Type.Object(segmentSummary, { description: 'A segment.' })
export type SegmentSummary = Static<typeof SegmentSummary>
export const SegmentList = listOf(SegmentSummary, 'segments')
/** GET /segments/:id */
export const Segment = Type.Object(
  { object: kind('segment'), ...segmentSummary },
  { description: 'A segment.' },
)
export const SegmentDeleted = Type.Object(
  { ...reference, deleted: Deleted },
  { description: 'The deleted segment.' },
)

const params = path({ id: pathId })
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
  params,
  response: { 200: Segment },
})
export const updateSegment = operation('PATCH /segments/:id', {
  summary: 'Change a segment',
  description: 'A segment keeps its kind: with rules, or without.',
  params,
  body: UpdateSegment,
  response: { 200: SegmentRef },
})
export const deleteSegment = operation('DELETE /segments/:id', {
  summary: 'Delete a segment',
  description: 'Its contacts stay. Succeeds also for a segment that does not exist.',
  params,
  response: { 200: SegmentDeleted },
})
export const listSegmentContacts = operation('GET /segments/:id/contacts', {
  summary: 'List the contacts of a segment',
  params,
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
