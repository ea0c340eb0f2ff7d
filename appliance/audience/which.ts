/** Finds the contact, segment or topic that a request refers to, and builds the error if there is none. */
import type { Clock } from '../clock/clock.ts'
import type { Subscription } from '../mail/audience.ts'
import { isId } from '../mail/ids.ts'
import { refuse, type Refusal } from '../mail/refusals.ts'

import type { Contact, ContactRef, MissingRef, Storage } from '../storage/storage.ts'
import { contactRef } from './values.ts'

export interface AudienceDeps {
  storage: Storage
  clock: Clock
}

/** Identifies a contact of a team, by id or address. */
export interface Which {
  teamId: string
  idOrEmail: string
}

/** A topic choice in a request. */
export interface ChoiceInput {
  id: string
  subscription: Subscription
}

export const noContact = (): Refusal => refuse('not_found', { resource: 'Contact' })
/** Creates the hosted service's error for a missing segment. */
export const noSegment = (): Refusal => refuse('not_found', { resource: 'Audience' })
export const noTopic = (): Refusal => refuse('not_found', { resource: 'Topic' })

/** Creates the error for a segment or topic that contacts can't be added to. */
export function refusalOf({ kind }: Pick<MissingRef, 'kind'>): Refusal {
  if (kind === 'unknown_topic') return noTopic()
  return kind === 'segment_with_rules' ? refuse('segment_with_rules') : noSegment()
}

/** Parses a contact id or address. Refuses: `not_found`. */
export function refOf({ idOrEmail }: Which): ContactRef {
  const ref = contactRef(idOrEmail)
  if (!ref) throw noContact()
  return ref
}

/** Finds a contact. Refuses: `not_found`. */
export async function findContact({ storage, clock }: AudienceDeps, which: Which): Promise<Contact> {
  const found = await storage.getContact({ teamId: which.teamId, ref: refOf(which) }, clock.now())
  if (!found) throw noContact()
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
export const readChoices = (topics: readonly ChoiceInput[]): ChoiceInput[] => {
  const ids = checkIds(
    'topics',
    topics.map(({ id }) => id),
  )
  return topics.map(({ subscription }, at) => ({ id: ids[at]!, subscription }))
}
