/** All data that a team stores about the person with an address. */
import type {
  Consent,
  ContactSegment,
  ContactTopic,
  EmailHistory,
  FoundEmail,
  Storage,
} from '../storage/storage.ts'
import { type ContactDetails, createContactMethods } from './contacts.ts'
import { type AudienceDeps, contactNotFound, requireContactRef, type ContactIdentifier } from './find.ts'

export interface Person {
  address: string
  /** The contact with the address; null if there is none. */
  contact: ContactDetails | null
  /** Whether the address opted out of everything, as a current or deleted contact. */
  unsubscribed: boolean
  segments: ContactSegment[]
  topics: ContactTopic[]
  /** Consent log, newest first, at most 1,000 entries. */
  consents: Consent[]
  suppression: Awaited<ReturnType<Storage['getSuppression']>>
}

/** An email to the person, and its outcome. */
export interface PersonEmail {
  email: FoundEmail
  history: EmailHistory
}

export interface PersonMethods {
  /**
   * Returns all data about a person. Refuses: `not_found` for an unknown id. An address without a contact is not an
   * error.
   */
  getPerson(which: ContactIdentifier): Promise<Person>
  /** Returns all emails to an address, newest first, in pages. */
  emailsOfPerson(args: { teamId: string; address: string }): AsyncGenerator<PersonEmail[], void>
}

/** Maximum number of a contact's segments in the response, and of emails per page. */
const SEGMENTS = 1000
const PAGE = 50

export function createPersonMethods({ storage, clock }: AudienceDeps): PersonMethods {
  return {
    async getPerson(which) {
      const { teamId } = which
      const ref = requireContactRef(which)
      const now = clock.now()
      const found = await storage.getContact({ teamId, ref }, now)
      if (!found && 'id' in ref) throw contactNotFound()
      const address = found?.email ?? which.idOrEmail
      const own = found && { teamId, contactId: found.id }
      const [known] = await storage.optOutsOf({ teamId, emails: [address] }, now)
      return {
        address,
        contact: found ? await createContactMethods({ storage, clock }).getContact(which) : null,
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
