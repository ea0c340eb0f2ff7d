/** API calls for contacts, segments, topics and contact properties. */
import type { ContactBroadcasts } from '../../../appliance/api/broadcast-review.ts'
import type { Static } from 'typebox'
import type {
  ChangeContacts,
  ContactsAdded,
  ContactsChanged,
  ContactsChecked,
  ContactsCounted,
  ContactBatchFilter,
} from '../../../appliance/api/contact-batches.ts'
import type {
  ContactConsentList,
  ContactSegmentList,
  ContactTopicList,
} from '../../../appliance/api/contact-details.ts'
import type {
  ContactProperty,
  ContactPropertyList,
  CreateContactProperty,
} from '../../../appliance/api/contact-properties.ts'
import type { ContactCounts } from '../../../appliance/api/contact-counts.ts'
import type { Contact, ContactSearch, UpdateContact } from '../../../appliance/api/contacts.ts'
import type { SegmentDays, SegmentReach } from '../../../appliance/api/segment-reach.ts'
import type {
  CreateSegment,
  Segment,
  SegmentCreated,
  SegmentList,
  UpdateSegment,
} from '../../../appliance/api/segments.ts'
import type { CreateTopic, TopicList, UpdateTopic } from '../../../appliance/api/topics.ts'
import type { Subscription } from '../../../appliance/mail/audience.ts'
import { listStartedBroadcasts } from './broadcasts.ts'
import { change, postQuery, read, addQueryString } from './client.ts'

export type { ContactBatchFilter }

const id = encodeURIComponent

/** Loads a chunk of search results; `after` is the `next` of the previous chunk. */
export const searchContacts = (
  { rules, ...filter }: ContactBatchFilter,
  after: string | null,
  limit: number,
  signal?: AbortSignal,
) =>
  read<ContactSearch>(
    addQueryString('/contacts/search', { ...filter, rules: rules && JSON.stringify(rules), after, limit }),
    signal,
  )

/** URLs of downloads: all contacts as CSV, and all data about one contact as JSON. */
export const CONTACTS_EXPORT_PATH = '/contacts/export.csv'
export const contactExportUrl = (contact: string): string => `/contacts/${id(contact)}/export.json`

export const countContacts = (signal?: AbortSignal) => read<ContactCounts>('/contacts/counts', signal)

export const getContact = (contact: string, signal?: AbortSignal) =>
  read<Contact>(`/contacts/${id(contact)}`, signal)

export const updateContact = (contact: string, body: UpdateContact) =>
  change('PATCH', `/contacts/${id(contact)}`, body)

export const deleteContact = (contact: string) => change('DELETE', `/contacts/${id(contact)}`)

export const listContactSegments = (contact: string, signal?: AbortSignal) =>
  read<Static<typeof ContactSegmentList>>(`/contacts/${id(contact)}/segments?limit=100`, signal)

export const listContactBroadcasts = (contact: string, signal?: AbortSignal) =>
  read<ContactBroadcasts>(`/contacts/${id(contact)}/broadcasts`, signal)

export const setSegmentMembership = (contact: string, segment: string, member: boolean) =>
  change(member ? 'POST' : 'DELETE', `/contacts/${id(contact)}/segments/${id(segment)}`)

export const listContactTopics = (contact: string, signal?: AbortSignal) =>
  read<Static<typeof ContactTopicList>>(`/contacts/${id(contact)}/topics`, signal)

export const setTopicSubscription = (contact: string, topic: string, subscription: Subscription) =>
  change('PATCH', `/contacts/${id(contact)}/topics`, [{ id: topic, subscription }])

export const listConsents = (contact: string, signal?: AbortSignal) =>
  read<Static<typeof ContactConsentList>>(`/contacts/${id(contact)}/consents?limit=100`, signal)

/** Looks up addresses, at most 500 per call. */
export const checkContacts = (emails: readonly string[]) =>
  postQuery<ContactsChecked>('/contacts/batch/check', { emails })

/** Adds contacts by address, at most 500 per call. */
export const addContacts = (emails: readonly string[], segmentIds: readonly string[]) =>
  change<ContactsAdded>('POST', '/contacts/batch/add', { emails, segment_ids: segmentIds })

/**
 * Counts all matching contacts, chunk by chunk. A million contacts take a second or two.
 * @param onpart called with the count so far; returns false to stop
 */
export async function countMatchingContacts(
  filter: ContactBatchFilter,
  onpart: (contacts: number) => boolean = () => true,
): Promise<Pick<ContactsCounted, 'contacts' | 'sample'>> {
  const sum = { contacts: 0, sample: [] as string[] }
  for (let after: string | null = null; ;) {
    const part: ContactsCounted = await postQuery('/contacts/batch/count', { filter, after })
    sum.contacts += part.contacts
    if (sum.sample.length === 0) sum.sample = part.sample
    after = part.next
    if (after === null || !onpart(sum.contacts)) return sum
  }
}

/** Counts the contacts of a segment that broadcasts can reach: neither unsubscribed nor suppressed. */
export const countMailableContacts = async (segment: string, signal: AbortSignal): Promise<number> =>
  (
    await countMatchingContacts(
      { segment_id: segment, unsubscribed: false, suppressed: false },
      () => !signal.aborted,
    )
  ).contacts

/** Counts the contacts that have a value for a property. */
export const countContactsWithProperty = async (key: string, signal: AbortSignal): Promise<number> =>
  (
    await countMatchingContacts(
      { rules: { type: 'rule', field: `contact.properties.${key}`, operator: 'exists' } },
      () => !signal.aborted,
    )
  ).contacts

/** Changes contacts, at most 500 per call. */
export const changeContacts = (body: ChangeContacts) =>
  change<ContactsChanged>('POST', '/contacts/batch/change', body)

export const listSegments = (signal?: AbortSignal) => read<Static<typeof SegmentList>>('/segments', signal)

/** Lists the segments that contacts can be added to. */
export async function listPlainSegments(signal?: AbortSignal) {
  const { data } = await listSegments(signal)
  return { data: data.filter(({ filter }) => filter === null) }
}

export const getSegment = (segment: string, signal?: AbortSignal) =>
  read<Static<typeof Segment>>(`/segments/${id(segment)}`, signal)

export const getSegmentDays = (segment: string, signal?: AbortSignal) =>
  read<SegmentDays>(`/segments/${id(segment)}/days`, signal)

export const getSegmentProviders = (segment: string, signal?: AbortSignal) =>
  read<SegmentReach>(`/segments/${id(segment)}/providers`, signal)

export const createSegment = (body: CreateSegment) =>
  change<Static<typeof SegmentCreated>>('POST', '/segments', body)

export const updateSegment = (segment: string, body: Static<typeof UpdateSegment>) =>
  change('PATCH', `/segments/${id(segment)}`, body)

export const deleteSegment = (segment: string) => change('DELETE', `/segments/${id(segment)}`)

export const listTopics = (signal?: AbortSignal) => read<Static<typeof TopicList>>('/topics', signal)

export const createTopic = (body: Static<typeof CreateTopic>) => change('POST', '/topics', body)

export const updateTopic = (topic: string, body: Static<typeof UpdateTopic>) =>
  change('PATCH', `/topics/${id(topic)}`, body)

export const deleteTopic = (topic: string) => change('DELETE', `/topics/${id(topic)}`)

export const listProperties = (signal?: AbortSignal) =>
  read<Static<typeof ContactPropertyList>>('/contact-properties', signal)

/** Lists the properties, topics, segments and broadcasts that rules can refer to. */
export async function listRuleNames(signal?: AbortSignal) {
  const [properties, topics, segments, broadcasts] = await Promise.all([
    listProperties(signal),
    listTopics(signal),
    listSegments(signal),
    listStartedBroadcasts(signal),
  ])
  return { properties: properties.data, topics: topics.data, segments: segments.data, broadcasts }
}

export const createProperty = (body: Static<typeof CreateContactProperty>) =>
  change('POST', '/contact-properties', body)

export const setFallback = (property: string, fallback: string | number | null) =>
  change('PATCH', `/contact-properties/${id(property)}`, { fallback_value: fallback })

/** Returns a property with the objects that use it. */
export const getProperty = (property: string, signal?: AbortSignal) =>
  read<Static<typeof ContactProperty>>(`/contact-properties/${id(property)}`, signal)

export const deleteProperty = (property: string) => change('DELETE', `/contact-properties/${id(property)}`)
