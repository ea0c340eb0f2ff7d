/** Numbers of contacts, and their growth. Not part of the hosted API. */
import { Type, type Static } from 'typebox'
import type { AudienceDay, ContactCounts as StoredCounts } from '../storage/storage.ts'
import { operationsIn } from './operation.ts'
import { kind } from './shared.ts'

/** GET /contacts/counts */
export const ContactCounts = Type.Object(
  {
    object: kind('contact_counts'),
    contacts: Type.Integer({ description: 'All contacts.' }),
    subscribed: Type.Integer({ description: 'Contacts that did not opt out of everything.' }),
    unsubscribed: Type.Integer({ description: 'Contacts that opted out of everything.' }),
    suppressed: Type.Integer({ description: 'Contacts on the suppression list, of both kinds.' }),
    days: Type.Array(
      Type.Object(
        {
          date: Type.String({ description: 'A day in UTC.', examples: ['2026-01-31'] }),
          created: Type.Integer({ description: 'Contacts that were created that day.' }),
          unsubscribed: Type.Integer({ description: 'Contacts that opted out of everything that day.' }),
        },
        { description: 'The growth of one day. Deleted contacts are not counted.' },
      ),
      { description: 'The last 30 days, today last.' },
    ),
  },
  { description: 'Numbers of contacts.' },
)
export type ContactCounts = Static<typeof ContactCounts>

const operation = operationsIn('Contacts')

export const countContacts = operation('GET /contacts/counts', {
  summary: 'Count contacts',
  description: 'Not part of the hosted API.',
  response: { 200: ContactCounts },
})
export const presentCounts = (
  counts: StoredCounts & { suppressed: number; days: readonly AudienceDay[] },
): ContactCounts => ({
  object: 'contact_counts',
  contacts: counts.contacts,
  subscribed: counts.contacts - counts.unsubscribed,
  unsubscribed: counts.unsubscribed,
  suppressed: counts.suppressed,
  days: counts.days.map(({ date, created, unsubscribed }) => ({ date, created, unsubscribed })),
})
