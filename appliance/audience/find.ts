/** Finds the contact, segment or topic that a request refers to, and builds the error if there is none. */
import type { Clock } from '../clock/clock.ts'
import type { Subscription } from '../mail/audience.ts'
import { isId } from '../mail/ids.ts'
import { refuse, type Refusal } from '../mail/refusals.ts'

import type { Contact, ContactRef, MissingRef, Storage } from '../storage/storage.ts'
import { parseContactRef } from './values.ts'

export interface AudienceDeps {
  storage: Storage
  clock: Clock
}

/** Identifies a contact of a team, by id or address. */
export interface ContactIdentifier {
  teamId: string
  idOrEmail: string
}

/** A topic choice in a request. */
export interface TopicChoiceInput {
  id: string
  subscription: Subscription
}

export const contactNotFound = (): Refusal => refuse('not_found', { resource: 'Contact' })
/** Creates the hosted service's error for a missing segment. */
export const segmentNotFound = (): Refusal => refuse('not_found', { resource: 'Audience' })
export const topicNotFound = (): Refusal => refuse('not_found', { resource: 'Topic' })

/** Creates the error for a segment or topic that contacts can't be added to. */
export function createMissingRefError({ kind }: Pick<MissingRef, 'kind'>): Refusal {
  if (kind === 'unknown_topic') return topicNotFound()
  return kind === 'segment_with_rules' ? refuse('segment_with_rules') : segmentNotFound()
}

/** Parses a contact id or address. Refuses: `not_found`. */
export function requireContactRef({ idOrEmail }: ContactIdentifier): ContactRef {
  const ref = parseContactRef(idOrEmail)
  if (!ref) throw contactNotFound()
  return ref
}

/** Finds a contact. Refuses: `not_found`. */
export async function findContact(
  { storage, clock }: AudienceDeps,
  which: ContactIdentifier,
): Promise<Contact> {
  const found = await storage.getContact({ teamId: which.teamId, ref: requireContactRef(which) }, clock.now())
  if (!found) throw contactNotFound()
  return found
}

/** Checks ids. Refuses: `invalid_id`. */
export function checkIds(field: string, ids: readonly string[]): string[] {
  return ids.map((id, at) => {
    if (!isId(id)) throw refuse('invalid_id', { parameter: `${field}[${at}].id` })
    return id.toLowerCase()
  })
}

/** Reads topic choices. Refuses: `invalid_id`. */
export const parseTopicChoices = (topics: readonly TopicChoiceInput[]): TopicChoiceInput[] => {
  const ids = checkIds(
    'topics',
    topics.map(({ id }) => id),
  )
  return topics.map(({ subscription }, at) => ({ id: ids[at]!, subscription }))
}
