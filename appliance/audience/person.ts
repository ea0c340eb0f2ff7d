/** Everything that a team keeps about the person who has an address. */
import type {
  Consent,
  ContactSegment,
  ContactTopic,
  EmailHistory,
  FoundEmail,
  Storage,
} from '../storage/storage.ts'
import { type ContactDetails, contactMethods } from './contacts.ts'
import { type AudienceDeps, noContact, refOf, type Which } from './which.ts'

export interface Person {
  address: string
  /** Null: the address is no contact. */
  contact: ContactDetails | null
  /** Opted out of everything, as a contact or as an earlier one. */
  unsubscribed: boolean
  segments: ContactSegment[]
  topics: ContactTopic[]
  /** Newest first, at most 1,000. */
  consents: Consent[]
  suppression: Awaited<ReturnType<Storage['getSuppression']>>
}

/** An email to the person, and what became of it. */
export interface PersonEmail {
  email: FoundEmail
  history: EmailHistory
}

export interface PersonMethods {
  /** Refuses: `not_found` for an id; an address that is no contact is answered. */
  getPerson(which: Which): Promise<Person>
  /** Every email to an address, newest first, in pages. */
  emailsOfPerson(args: { teamId: string; address: string }): AsyncGenerator<PersonEmail[], void>
}

/** A contact has at most so many segments in the answer, and emails are read so many at once. */
const SEGMENTS = 1000
const PAGE = 50

export function personMethods({ storage, clock }: AudienceDeps): PersonMethods {
  return {
    async getPerson(which) {
      const { teamId } = which
      const ref = refOf(which)
      const now = clock.now()
      const found = await storage.getContact({ teamId, ref }, now)
      if (!found && 'id' in ref) throw noContact()
      const address = found?.email ?? which.idOrEmail
      const own = found && { teamId, contactId: found.id }
      const [known] = await storage.optOutsOf({ teamId, emails: [address] }, now)
      return {
        address,
        contact: found ? await contactMethods({ storage, clock }).getContact(which) : null,
        unsubscribed: known?.unsubscribed ?? false,
        segments: own ? (await storage.listContactSegments({ ...own, limit: SEGMENTS }, now)).items : [],
        topics: own ? await storage.listContactTopics(own, now) : [],
        consents: await storage.listConsents({ teamId, contactId: found?.id ?? '', email: address }, now),
        suppression: await storage.getSuppression({ teamId, ref: { email: address } }, now),
      }
    },
    async *emailsOfPerson({ teamId, address }) {
      let after: string | undefined
      do {
        const asked = { teamId, filter: { to: address }, limit: PAGE, after }
        const { items, next } = await storage.searchEmails(asked, clock.now())
        const page: PersonEmail[] = []
        for (const email of items)
          page.push({ email, history: await storage.getHistory({ teamId, id: email.id }, clock.now()) })
        yield page
        after = next ?? undefined
      } while (after !== undefined)
    },
  }
}
