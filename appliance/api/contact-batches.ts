/** Batches of contacts. Not part of the hosted API. */
import { Type, type Static } from 'typebox'
import { SUBSCRIPTIONS } from '../mail/audience.ts'
import type { ContactBatchChange, AddressStatus } from '../storage/storage.ts'
import { operationsIn } from './operation.ts'
import {
  array,
  boolean,
  integer,
  kind,
  literals,
  Nullable,
  object,
  optionalText,
  record,
  string,
} from './schemas.ts'
import { Id, listOf } from './shared.ts'

/** Maximum number of addresses per request. */
export const MAX_ADDRESSES = 500

const emails = array(Type.String(), `1 to ${MAX_ADDRESSES} addresses.`, {
  minItems: 1,
  maxItems: MAX_ADDRESSES,
})

export const CheckContacts = object('Addresses to look up.', { emails })

export const CONTACT_VERDICTS = ['new', 'known', 'unsubscribed', 'suppressed', 'invalid'] as const
export type ContactVerdict = (typeof CONTACT_VERDICTS)[number]

export const ContactsChecked = listOf(
  Type.Object({
    email: string('The address as it was given.'),
    contact_id: Nullable(Type.String(), 'The contact that has it; null: none.'),
    verdict: literals(
      CONTACT_VERDICTS,
      'new: no contact has it · known: a contact has it · unsubscribed: opted out of everything, also as an earlier contact · suppressed: this server sends nothing to it · invalid: not an address.',
    ),
  }),
  'what is known about the addresses, always the only one',
  'One for each address, in the order of the request.',
)
export type ContactsChecked = Static<typeof ContactsChecked>

export const AddContacts = object('Contacts to add.', {
  emails,
  segment_ids: Type.Optional(array(Type.String(), 'Segments to add the contacts to.', { maxItems: 100 })),
})
export const ContactsAdded = object('What was added.', {
  object: kind('contacts_added'),
  created: integer('Contacts that were created.'),
  known: integer('Contacts that existed; they were added to the segments.'),
})
export type ContactsAdded = Static<typeof ContactsAdded>

const filter = object(
  'The conditions of `GET /contacts/search`, and rules; an empty object means all contacts.',
  {
    text: Type.Optional(string('What the address or a name must contain.')),
    segment_id: Type.Optional(string('Only contacts in this segment.')),
    unsubscribed: Type.Optional(boolean('true: opted out of everything; false: not.')),
    topic_id: Type.Optional(string('Only contacts with a choice for this topic.')),
    subscription: Type.Optional(literals(SUBSCRIPTIONS, 'Which choice. Default: opt_in.')),
    suppressed: Type.Optional(boolean('true: this server sends nothing to the address; false: it does.')),
    rules: Type.Optional(record(Type.Unknown(), 'Rules, as the `filter` of a segment has them.')),
  },
)
export type ContactBatchFilter = Static<typeof filter>

export const CONTACT_BATCH_ACTIONS = [
  'add_to_segment',
  'remove_from_segment',
  'opt_in',
  'opt_out',
  'unsubscribe',
  'delete',
] as const
export type ContactBatchAction = (typeof CONTACT_BATCH_ACTIONS)[number]

const picked = {
  ids: Type.Optional(
    array(Type.String(), '1 to 500 contact ids, or `filter` instead.', { minItems: 1, maxItems: 500 }),
  ),
  filter: Type.Optional(filter),
}
export const ChangeContacts = object('What to do, and with which contacts.', {
  ...picked,
  action: literals(
    CONTACT_BATCH_ACTIONS,
    'add_to_segment, remove_from_segment: `segment_id` · opt_in, opt_out: `topic_id` · unsubscribe: of everything · delete. opt_in doesn’t lift an opt-out.',
  ),
  segment_id: Type.Optional(string('The segment.')),
  topic_id: Type.Optional(string('The topic.')),
  after: optionalText('With `filter`: the `next` of the request before; null: begin.'),
})
export type ChangeContacts = Static<typeof ChangeContacts>
export const ContactsChanged = object('What was changed.', {
  object: kind('contacts_changed'),
  contacts: integer('Contacts that are now in the requested state, including those that already were.'),
  next: Nullable(Id, 'More may match: pass it as `after`. null: all were changed.'),
})
export type ContactsChanged = Static<typeof ContactsChanged>

export const CountContacts = object('Which contacts to count.', {
  filter,
  after: optionalText('The `next` of the request before; null: begin.'),
})
export const ContactsCounted = object('How many contacts match.', {
  object: kind('contacts_counted'),
  contacts: integer('Contacts that match, of those that this request checked.'),
  sample: array(Type.String(), 'Addresses of the newest 5 of them.'),
  next: Nullable(Id, 'More may match: pass it as `after` and add the numbers. null: all were counted.'),
})
export type ContactsCounted = Static<typeof ContactsCounted>

const operation = operationsIn('Contacts')

export const checkContacts = operation('POST /contacts/batch/check', {
  summary: 'Look up addresses',
  description: 'Nothing is changed. Not part of the hosted API.',
  body: CheckContacts,
  response: { 200: ContactsChecked },
})
export const addContacts = operation('POST /contacts/batch/add', {
  summary: 'Add contacts',
  description: 'All addresses must be valid. No opt-out is lifted. Not part of the hosted API.',
  body: AddContacts,
  response: { 200: ContactsAdded },
})
export const countMatchingContacts = operation('POST /contacts/batch/count', {
  summary: 'Count matching contacts',
  description:
    'Each request checks 40,000 contacts; repeat it with `after` until `next` is null. Nothing is changed. Not part of the hosted API.',
  body: CountContacts,
  response: { 200: ContactsCounted },
})
export const changeContacts = operation('POST /contacts/batch/change', {
  summary: 'Change several contacts',
  description:
    'Each contact is changed as by a separate request, with its webhook events. With `filter`, each request changes at most 500; repeat it with `after` until `next` is null. Not part of the hosted API.',
  body: ChangeContacts,
  response: { 200: ContactsChanged },
})

export const presentCheckedContact = (
  email: string,
  known: AddressStatus | null,
): ContactsChecked['data'][number] => ({
  email,
  contact_id: known?.contactId ?? null,
  verdict: verdictOf(known),
})

function verdictOf(known: AddressStatus | null): ContactVerdict {
  if (known === null) return 'invalid'
  if (known.suppressed) return 'suppressed'
  if (known.unsubscribed) return 'unsubscribed'
  return known.contactId === null ? 'new' : 'known'
}

/** Returns the requested change; undefined if its segment or topic is missing. */
export function toContactBatchChange({
  action,
  segment_id,
  topic_id,
}: ChangeContacts): ContactBatchChange | undefined {
  if (action === 'unsubscribe') return { kind: 'unsubscribe' }
  if (action === 'delete') return { kind: 'delete' }
  if (action === 'opt_in' || action === 'opt_out')
    return topic_id === undefined ? undefined : { kind: 'choose', topicId: topic_id, subscription: action }
  return segment_id === undefined ? undefined : { kind: action, segmentId: segment_id }
}
