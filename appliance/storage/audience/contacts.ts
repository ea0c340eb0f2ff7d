/** Contacts: one for each address of a team. */
import { type ConsentContext, computeOptOut, type PropertyValue } from '../../mail/audience.ts'
import type { Db } from '../schema.ts'
import { type RequestedChoice, applyChoices } from './choices.ts'
import { recordConsents } from './consents.ts'
import { changeContactAddress, removeContact } from './contact-address.ts'
import { recordChoiceEvent, recordContactEvent } from './contact-events.ts'
import { type Contact, type ContactRef, getContact, toRow } from './contact-rows.ts'
import { addCounts, createdContactDeltas, optOutDeltas } from './counts.ts'
import { addMemberships, findMissingRef, type MissingRef } from './memberships.ts'
import { getKeptOptOuts, type KeptOptOuts, restoreOptOuts } from './opt-outs.ts'

/** A change to a contact. Undefined fields are left unchanged. */
export interface ContactChange {
  firstName?: string | null | undefined
  lastName?: string | null | undefined
  /** Property values by label; null removes a value. */
  properties?: Record<string, PropertyValue | null> | undefined
  unsubscribed?: boolean | undefined
}

/** A contact to create or, if the address exists, to change. */
export interface NewContact extends ContactChange {
  id: string
  teamId: string
  /** The domain in A-labels. */
  email: string
  segmentIds: string[]
  topics: RequestedChoice[]
}

export type SaveContactResult = { kind: 'created' | 'updated' | 'unchanged'; contact: Contact } | MissingRef

/**
 * Creates a contact, or changes the one with this address. Keeps the opt-outs of the address, including those of an
 * earlier contact. Records `contact.created`, `contact.updated` and `contact.topics.updated`. If two callers use the
 * same address, its unique index decides.
 */
async function saveContact(
  db: Db,
  { contact: given, act }: { contact: NewContact; act: ConsentContext },
  now: number,
): Promise<SaveContactResult> {
  const missing = await findMissingRef(db, given.teamId, given)
  if (missing) return missing
  const kept = await getKeptOptOuts(db, given.teamId, given.email)
  const fresh = newContact(given, kept, act, now)
  const inserted = await db
    .insertInto('contacts')
    .values(toRow(fresh))
    .onConflict((conflict) => conflict.columns(['team_id', 'address_key']).doNothing())
    .executeTakeFirstOrThrow()
  if (inserted.numInsertedOrUpdatedRows === 0n) {
    const known = await getContact(db, { teamId: given.teamId, ref: { email: given.email } })
    if (known) return changeContact(db, { contact: known, ...given, act }, now)
  }
  await beginContact(db, { contact: fresh, given, kept, act }, now)
  return { kind: 'created', contact: fresh }
}

function newContact(
  given: NewContact,
  kept: KeptOptOuts | undefined,
  act: ConsentContext,
  now: number,
): Contact {
  const { id, teamId, email, firstName = null, lastName = null, properties = {} } = given
  return {
    id,
    teamId,
    email,
    firstName,
    lastName,
    properties: mergeProperties({}, properties),
    optOut: computeOptOut(kept?.ofAll ?? null, given.unsubscribed, act, now),
    createdBy: act.origin,
    createdFrom: act.source,
    createdAt: now,
    updatedAt: now,
    lastOpenedAt: null,
    lastClickedAt: null,
  }
}

interface Begun {
  contact: Contact
  given: NewContact
  kept: KeptOptOuts | undefined
  act: ConsentContext
}

/** Stores all data related to a new contact. */
async function beginContact(db: Db, { contact, given, kept, act }: Begun, now: number): Promise<void> {
  if (kept) await restoreOptOuts(db, contact, kept)
  if (contact.optOut && !kept?.ofAll)
    await recordConsents(db, contact, [{ scope: '', was: null, subscription: 'opt_out' }], act, now)
  await applyChoices(db, contact, given.topics, act, now)
  await addMemberships(db, contact, given.segmentIds, now)
  const counts = createdContactDeltas(contact.createdAt, 1)
  if (contact.optOut) counts.push(...optOutDeltas(contact.optOut.at, 1))
  await addCounts(db, contact.teamId, counts)
  await recordContactEvent(db, 'contact.created', contact, now)
}

interface Changing extends ContactChange {
  contact: Contact
  /** The contact before its address changed; undefined if the address didn't change. */
  before?: Contact
  segmentIds?: string[]
  topics?: RequestedChoice[]
  act: ConsentContext
}

/** Changes a contact and what depends on it. Records nothing if nothing changes. */
export async function changeContact(
  db: Db,
  { contact, before = contact, segmentIds = [], topics = [], act, ...change }: Changing,
  now: number,
): Promise<Extract<SaveContactResult, { contact: Contact }>> {
  const next = changed(contact, change, act, now)
  const differs = JSON.stringify(next) !== JSON.stringify(before)
  if (differs) next.updatedAt = now
  if (differs)
    await db
      .updateTable('contacts')
      .set(toRow(next))
      .where('team_id', '=', contact.teamId)
      .where('id', '=', contact.id)
      .execute()
  await recordOptOut(db, contact, next, act, now)
  const joined = await addMemberships(db, contact, segmentIds, now)
  const chosen = await applyChoices(db, contact, topics, act, now)
  if (differs || joined > 0) await recordContactEvent(db, 'contact.updated', next, now)
  await recordChoiceEvent(db, next, chosen, now)
  const kind = differs || joined > 0 || chosen.length > 0 ? 'updated' : 'unchanged'
  return { kind, contact: next }
}

function changed(contact: Contact, change: ContactChange, act: ConsentContext, now: number): Contact {
  const { firstName = contact.firstName, lastName = contact.lastName, properties } = change
  return {
    ...contact,
    firstName,
    lastName,
    properties: properties ? mergeProperties(contact.properties, properties) : contact.properties,
    optOut: computeOptOut(contact.optOut, change.unsubscribed, act, now),
  }
}

function mergeProperties(
  current: Contact['properties'],
  change: Record<string, PropertyValue | null>,
): Contact['properties'] {
  const merged = Object.entries({ ...current, ...change })
  return Object.fromEntries(
    merged.flatMap(([label, value]) => (value === null ? [] : [[label, value] as const])),
  )
}

/** Updates the consent log and the counts if a contact opted out of everything or opted back in. */
async function recordOptOut(
  db: Db,
  before: Contact,
  after: Contact,
  act: ConsentContext,
  now: number,
): Promise<void> {
  if ((before.optOut === null) === (after.optOut === null)) return
  const [was, subscription] = after.optOut
    ? (['opt_in', 'opt_out'] as const)
    : (['opt_out', 'opt_in'] as const)
  await recordConsents(db, after, [{ scope: '', was, subscription }], act, now)
  if (after.optOut) await addCounts(db, after.teamId, optOutDeltas(after.optOut.at, 1))
  if (before.optOut) await addCounts(db, after.teamId, optOutDeltas(before.optOut.at, -1))
}

/**
 * Changes one contact. `taken`: another contact has the new address, and nothing was changed. After a change of
 * address, the contact stays opted out, and so does the old address. Records `contact.updated`.
 */
export async function updateContact(
  db: Db,
  {
    teamId,
    ref,
    email,
    change,
    act,
  }: {
    teamId: string
    ref: ContactRef
    email?: string | undefined
    change: ContactChange
    act: ConsentContext
  },
  now: number,
): Promise<Contact | 'unknown' | 'taken'> {
  const before = await getContact(db, { teamId, ref })
  if (!before) return 'unknown'
  const contact = email === undefined ? before : await changeContactAddress(db, before, email)
  if (contact === 'taken') return 'taken'
  return (await changeContact(db, { contact, before, ...change, act }, now)).contact
}

/** Deletes a contact. Keeps its opt-outs under the hash of its address. Records `contact.deleted`. */
async function deleteContact(
  db: Db,
  { teamId, ref }: { teamId: string; ref: ContactRef },
  now: number,
): Promise<Contact | undefined> {
  const contact = await getContact(db, { teamId, ref })
  if (contact) await removeContact(db, contact, now)
  return contact
}

export const methods = {
  writes: { saveContact, updateContact, deleteContact },
}
