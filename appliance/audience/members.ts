/** The segments, topic choices and consent log of a contact. */
import type { ConsentContext } from '../mail/audience.ts'
import type { Consent, Contact, ContactSegment, ContactTopic, Page, PageArgs } from '../storage/storage.ts'
import {
  type AudienceDeps,
  type TopicChoiceInput,
  findContact,
  contactNotFound,
  parseTopicChoices,
  requireContactRef,
  createMissingRefError,
  type ContactIdentifier,
} from './find.ts'

export interface MemberMethods {
  /** Lists the segments of a contact. Refuses: `not_found`. */
  listContactSegments(args: ContactIdentifier & Omit<PageArgs, 'teamId'>): Promise<Page<ContactSegment>>
  /** Adds a contact to a segment. Refuses: `not_found`. */
  addToSegment(args: ContactIdentifier & { segmentId: string }): Promise<Contact>
  /** Removes a contact from a segment. Refuses: `not_found`. */
  removeFromSegment(args: ContactIdentifier & { segmentId: string }): Promise<Contact>
  /** Reports whether a contact is in a segment; false if there is no such contact. */
  isInSegment(args: ContactIdentifier & { segmentId: string }): Promise<boolean>
  /** Lists every topic, newest first, with the contact's subscription. Refuses: `not_found`. */
  listContactTopics(which: ContactIdentifier): Promise<ContactTopic[]>
  /** Stores all topic choices, or none if one is invalid. Refuses: `not_found`, `invalid_id`. */
  setContactTopics(
    args: ContactIdentifier & { topics: TopicChoiceInput[]; act: ConsentContext },
  ): Promise<Contact>
  /** Returns the consent log, newest first. Refuses: `not_found`. */
  listConsents(which: ContactIdentifier): Promise<Consent[]>
}

export function createMemberMethods(deps: AudienceDeps): MemberMethods {
  const { storage, clock } = deps
  const membership =
    (method: 'addToSegment' | 'removeFromSegment') =>
    async ({ segmentId, ...which }: ContactIdentifier & { segmentId: string }): Promise<Contact> => {
      const args = { teamId: which.teamId, ref: requireContactRef(which), segmentId }
      const result = await storage[method](args, clock.now())
      if (result === 'no_contact') throw contactNotFound()
      if ('kind' in result) throw createMissingRefError(result)
      return result
    }

  return {
    async listContactSegments({ idOrEmail, ...page }) {
      const { id } = await findContact(deps, { teamId: page.teamId, idOrEmail })
      return storage.listContactSegments({ contactId: id, ...page }, clock.now())
    },
    isInSegment: ({ teamId, segmentId, ...which }) =>
      storage.isInSegment({ teamId, ref: requireContactRef({ teamId, ...which }), segmentId }, clock.now()),
    addToSegment: membership('addToSegment'),
    removeFromSegment: membership('removeFromSegment'),
    async listContactTopics(which) {
      const { id } = await findContact(deps, which)
      return storage.listContactTopics({ teamId: which.teamId, contactId: id }, clock.now())
    },
    async setContactTopics({ topics, act, ...which }) {
      const args = {
        teamId: which.teamId,
        ref: requireContactRef(which),
        topics: parseTopicChoices(topics),
        act,
      }
      const result = await storage.setContactTopics(args, clock.now())
      if (!result) throw contactNotFound()
      if ('kind' in result) throw createMissingRefError(result)
      return result
    },
    async listConsents(which) {
      const { id, teamId, email } = await findContact(deps, which)
      return storage.listConsents({ teamId, contactId: id, email }, clock.now())
    },
  }
}
