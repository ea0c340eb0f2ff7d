/** Everything that a team stores about a person, as a file. Not part of the hosted API. */
import { Type } from 'typebox'
import type { Person as StoredPerson, PersonEmail as StoredEmail } from '../audience/audience.ts'
import type { ErasureCounts } from '../storage/storage.ts'
import {
  ContactConsent,
  ContactSegmentSummary,
  ContactTopicSummary,
  presentConsent,
  presentContactSegment,
  presentContactTopic,
} from './contact-details.ts'
import { Contact, contactParams, presentContact } from './contacts.ts'
import { FoundEmail, presentFoundEmail } from './email-search.ts'
import { ErasureCounts as Counts } from './erasures.ts'
import { operationsIn } from './operation.ts'
import { array, boolean, kind, Nullable, object, string } from './schemas.ts'
import { Timestamp } from './shared.ts'
import { presentSuppression, Suppression } from './suppressions.ts'
import { presentTimeline, Timeline } from './timeline.ts'
import { timestamp } from './timestamp.ts'

const list = <T extends Parameters<typeof Type.Array>[0]>(of: T, description: string) =>
  array(of, description)

const Email = object('An email to the address, and its results.', {
  ...FoundEmail.properties,
  timeline: Timeline,
})

export const PersonData = object('Everything that the team stores about a person.', {
  object: kind('person_data'),
  address: string('The address.'),
  exported_at: Timestamp,
  unsubscribed: boolean('Whether the person opted out of everything, also before a contact was deleted.'),
  contact: Nullable(Contact, 'The contact; null: the address is none.'),
  segments: list(ContactSegmentSummary, 'The segments of the contact.'),
  topics: list(ContactTopicSummary, 'Every topic, and whether the contact gets it.'),
  consents: list(ContactConsent, 'Changes of subscriptions, newest first, at most 1,000.'),
  suppression: Nullable(Suppression, 'The entry on the suppression list; null: none.'),
  emails: list(Email, 'Every email to the address, newest first.'),
  kept: Type.Unsafe({
    ...Counts,
    description:
      'How many items of each kind name the address, in logs, webhooks and received mail, too. An erasure would change or remove them.',
  }),
})

const operation = operationsIn('Contacts')

export const exportPerson = operation('GET /contacts/:id/export.json', {
  summary: "Export a person's data",
  description:
    'Everything stored about an address, to answer a request for access: the contact, what they agreed to, and all emails to them. Also works for an address that is not a contact. Only owners and admins, and API keys with full access. Not part of the hosted API.',
  params: contactParams,
  response: { 200: PersonData },
})

const presentEmail = ({ email, history }: StoredEmail) => ({
  ...presentFoundEmail(email),
  timeline: presentTimeline(email, history),
})

/** Formats the data without the emails. */
const presentPerson = (person: StoredPerson, now: number) => ({
  object: 'person_data' as const,
  address: person.address,
  exported_at: timestamp(now),
  unsubscribed: person.unsubscribed,
  contact: person.contact && presentContact(person.contact),
  segments: person.segments.map(presentContactSegment),
  topics: person.topics.map(presentContactTopic),
  consents: person.consents.map(presentConsent),
  suppression: person.suppression ? presentSuppression(person.suppression) : null,
})

/**
 * Generates the file in chunks, so that not all mail is in memory at the same time.
 * @param counts read after all chunks
 */
export async function* personText(
  {
    person,
    emails,
    counts,
  }: { person: StoredPerson; emails: AsyncIterable<StoredEmail[]>; counts: () => Promise<ErasureCounts> },
  now: number,
): AsyncGenerator<string[], void> {
  yield [JSON.stringify(presentPerson(person, now), null, 2).slice(0, -2), ',\n  "emails": [']
  let mark = '\n'
  for await (const page of emails) {
    const texts: string[] = []
    for (const one of page) {
      texts.push(mark, JSON.stringify(presentEmail(one), null, 2))
      mark = ',\n'
    }
    yield texts
  }
  yield ['\n  ],\n  "kept": ', JSON.stringify(await counts(), null, 2), '\n}\n']
}
