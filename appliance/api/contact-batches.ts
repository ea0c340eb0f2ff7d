/** Batches of contacts. Not part of the hosted API. */
import { Type, type Static } from 'typebox'
import { SUBSCRIPTIONS } from '../mail/audience.ts'
import type { ContactBatchChange, AddressStatus } from '../storage/storage.ts'
import { operationsIn } from './operation.ts'
import { Id, kind, listOf, literals, Nullable } from './shared.ts'

/** Maximum number of addresses per request. */
export const MAX_ADDRESSES = 500

const emails = Type.Array(Type.String(), {
  description: `1 to ${MAX_ADDRESSES} addresses.`,
  minItems: 1,
  maxItems: MAX_ADDRESSES,
})

export const CheckContacts = Type.Object({ emails }, { description: 'Addresses to look up.' })

export const CONTACT_VERDICTS = ['new', 'known', 'unsubscribed', 'suppressed', 'invalid'] as const
export type ContactVerdict = (typeof CONTACT_VERDICTS)[number]

export const ContactsChecked = listOf(
  Type.Object({
    email: Type.String({ description: 'The address as it was given.' }),
    contact_id: Nullable(Type.String(), { description: 'The contact that has it; null: none.' }),
    verdict: literals(CONTACT_VERDICTS, {
      description:
        'new: no contact has it · known: a contact has it · unsubscribed: opted out of everything, also as an earlier contact · suppressed: this server sends nothing to it · invalid: not an address.',
    }),
  }),
  'what is known about the addresses, always the only one',
  'One for each address, in the order of the request.',
)
export type ContactsChecked = Static<typeof ContactsChecked>

export const AddContacts = Type.Object(
  {
    emails,
    segment_ids: Type.Optional(
      Type.Array(Type.String(), { description: 'Segments to add the contacts to.', maxItems: 100 }),
    ),
  },
  { description: 'Contacts to add.' },
)
export const ContactsAdded = Type.Object(
  {
    object: kind('contacts_added'),
    created: Type.Integer({ description: 'Contacts that were created.' }),
    known: Type.Integer({ description: 'Contacts that existed; they were added to the segments.' }),
  },
  { description: 'What was added.' },
)
export type ContactsAdded = Static<typeof ContactsAdded>

const filter = Type.Object(
  {
    text: Type.Optional(Type.String({ description: 'What the address or a name must contain.' })),
    segment_id: Type.Optional(Type.String({ description: 'Only contacts in this segment.' })),
    unsubscribed: Type.Optional(Type.Boolean({ description: 'true: opted out of everything; false: not.' })),
    topic_id: Type.Optional(Type.String({ description: 'Only contacts with a choice for this topic.' })),
    subscription: Type.Optional(literals(SUBSCRIPTIONS, { description: 'Which choice. Default: opt_in.' })),
    suppressed: Type.Optional(
      Type.Boolean({ description: 'true: this server sends nothing to the address; false: it does.' }),
    ),
    rules: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'Rules, as the `filter` of a segment has them.',
      }),
    ),
  },
  { description: 'The conditions of `GET /contacts/search`, and rules; an empty object means all contacts.' },
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
    Type.Array(Type.String(), {
      description: '1 to 500 contact ids, or `filter` instead.',
      minItems: 1,
      maxItems: 500,
    }),
  ),
  filter: Type.Optional(filter),
}
/** POST /contacts/batch/change */
export const ChangeContacts = Type.Object(
  {
    ...picked,
    action: literals(CONTACT_BATCH_ACTIONS, {
      description:
        'add_to_segment, remove_from_segment: `segment_id` · opt_in, opt_out: `topic_id` · unsubscribe: of everything · delete. opt_in doesn’t lift an opt-out.',
    }),
    segment_id: Type.Optional(Type.String({ description: 'The segment.' })),
    topic_id: Type.Optional(Type.String({ description: 'The topic.' })),
    after: Type.Optional(
      Nullable(Type.String(), {
        description: 'With `filter`: the `next` of the request before; null: begin.',
      }),
    ),
  },
  { description: 'What to do, and with which contacts.' },
)
export type ChangeContacts = Static<typeof ChangeContacts>
export const ContactsChanged = Type.Object(
  {
    object: kind('contacts_changed'),
    contacts: Type.Integer({
      description: 'Contacts that are now in the requested state, including those that already were.',
    }),
    next: Nullable(Id, {
      description: 'More may match: pass it as `after`. null: all were changed.',
    }),
  },
  { description: 'What was changed.' },
)
export type ContactsChanged = Static<typeof ContactsChanged>

/** POST /contacts/batch/count */
export const CountContacts = Type.Object(
  {
    filter,
    after: Type.Optional(
      Nullable(Type.String(), { description: 'The `next` of the request before; null: begin.' }),
    ),
  },
  { description: 'Which contacts to count.' },
)
export const ContactsCounted = Type.Object(
  {
    object: kind('contacts_counted'),
    contacts: Type.Integer({ description: 'Contacts that match, of those that this request checked.' }),
    sample: Type.Array(Type.String(), { description: 'Addresses of the newest 5 of them.' }),
    next: Nullable(Id, {
      description: 'More may match: pass it as `after` and add the numbers. null: all were counted.',
    }),
  },
  { description: 'How many contacts match.' },
)
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
