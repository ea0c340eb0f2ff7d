/** Which contact, segment or topic a request means, and what it hears when there is none. */
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

/** Which contact of a team: by id or address. */
export interface Which {
  teamId: string
  idOrEmail: string
}

/** A choice for a topic as a request makes it. */
export interface ChoiceInput {
  id: string
  subscription: Subscription
}

export const noContact = (): Refusal => refuse('not_found', { resource: 'Contact' })
/** What the hosted service calls a segment that is not there. */
export const noSegment = (): Refusal => refuse('not_found', { resource: 'Audience' })
export const noTopic = (): Refusal => refuse('not_found', { resource: 'Topic' })

/** What a request hears about a segment or topic that nobody can be added to. */
export function refusalOf({ kind }: Pick<MissingRef, 'kind'>): Refusal {
  if (kind === 'unknown_topic') return noTopic()
  return kind === 'segment_with_rules' ? refuse('segment_with_rules') : noSegment()
}

/** Refuses: `not_found`. */
export function refOf({ idOrEmail }: Which): ContactRef {
  const ref = contactRef(idOrEmail)
  if (!ref) throw noContact()
  return ref
}

/** Refuses: `not_found`. */
export async function findContact({ storage, clock }: AudienceDeps, which: Which): Promise<Contact> {
  const found = await storage.getContact({ teamId: which.teamId, ref: refOf(which) }, clock.now())
  if (!found) throw noContact()
  return found
}

/** Refuses: `invalid_id`. */
export function checkIds(field: string, ids: readonly string[]): string[] {
  return ids.map((id, at) => {
    if (!isId(id)) throw refuse('invalid_id', { parameter: `${field}[${at}].id` })
    return id.toLowerCase()
  })
}

/** Refuses: `invalid_id`. */
export const readChoices = (topics: readonly ChoiceInput[]): ChoiceInput[] => {
  const ids = checkIds(
    'topics',
    topics.map(({ id }) => id),
  )
  return topics.map(({ subscription }, at) => ({ id: ids[at]!, subscription }))
}
