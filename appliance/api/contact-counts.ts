/** Numbers of contacts, and their growth. Not part of the hosted API. */
import type { Static } from 'typebox'
import type { AudienceDay, ContactCounts as StoredCounts } from '../storage/storage.ts'
import { operationsIn } from './operation.ts'
import { array, integer, kind, object, string } from './schemas.ts'

export const ContactCounts = object('Numbers of contacts.', {
  object: kind('contact_counts'),
  contacts: integer('All contacts.'),
  subscribed: integer('Contacts that did not opt out of everything.'),
  unsubscribed: integer('Contacts that opted out of everything.'),
  suppressed: integer('Contacts on the suppression list, of both kinds.'),
  days: array(
    object('The growth of one day. Deleted contacts are not counted.', {
      date: string('A day in UTC.', { examples: ['2026-01-31'] }),
      created: integer('Contacts that were created that day.'),
      unsubscribed: integer('Contacts that opted out of everything that day.'),
    }),
    'The last 30 days, today last.',
  ),
})
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
