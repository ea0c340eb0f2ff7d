/** Contacts: one for each address of a team. */
import { type ConsentAct, optOutAfter, type PropertyValue } from '../../mail/audience.ts'
import type { Db } from '../schema.ts'
import { type AskedChoice, choose } from './choices.ts'
import { recordConsents } from './consents.ts'
import { moveContact, removeContact } from './contact-address.ts'
import { recordChoices, recordContact } from './contact-events.ts'
import { type Contact, type ContactRef, getContact, toRow } from './contact-rows.ts'
import { addCounts, contactsCreated, contactsOptedOut } from './counts.ts'
import { addMemberships, missingOf, type MissingRef } from './memberships.ts'
import { keptOptOuts, type KeptOptOuts, takeOptOuts } from './opt-outs.ts'

/** A change to a contact. Undefined fields stay. */
export interface ContactChange {
  firstName?: string | null | undefined
  lastName?: string | null | undefined
  /** By label; null removes the value. */
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
  topics: AskedChoice[]
}

export type SaveContactResult = { kind: 'created' | 'updated' | 'unchanged'; contact: Contact } | MissingRef

/**
 * Creates a contact, or changes the one with this address. Keeps the opt-outs of the address, including those of an
 * earlier contact. Records `contact.created`, `contact.updated` and `contact.topics.updated`. The unique address
 * decides between two callers.
 */
async function saveContact(
  db: Db,
  { contact: given, act }: { contact: NewContact; act: ConsentAct },
  now: number,
): Promise<SaveContactResult> {
  const missing = await missingOf(db, given.teamId, given)
  if (missing) return missing
  const kept = await keptOptOuts(db, given.teamId, given.email)
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

function newContact(given: NewContact, kept: KeptOptOuts | undefined, act: ConsentAct, now: number): Contact {
  const { id, teamId, email, firstName = null, lastName = null, properties = {} } = given
  return {
    id,
    teamId,
    email,
    firstName,
    lastName,
    properties: mergeProperties({}, properties),
    optOut: optOutAfter(kept?.ofAll ?? null, given.unsubscribed, act, now),
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
  act: ConsentAct
}

/** Stores everything that belongs to a new contact. */
async function beginContact(db: Db, { contact, given, kept, act }: Begun, now: number): Promise<void> {
  if (kept) await takeOptOuts(db, contact, kept)
  if (contact.optOut && !kept?.ofAll)
    await recordConsents(db, contact, [{ scope: '', was: null, subscription: 'opt_out' }], act, now)
  await choose(db, contact, given.topics, act, now)
  await addMemberships(db, contact, given.segmentIds, now)
  const counts = contactsCreated(contact.createdAt, 1)
  if (contact.optOut) counts.push(...contactsOptedOut(contact.optOut.at, 1))
  await addCounts(db, contact.teamId, counts)
  await recordContact(db, 'contact.created', contact, now)
}

interface Changing extends ContactChange {
  contact: Contact
  /** The contact before its address changed; undefined: the address is the same. */
  before?: Contact
  segmentIds?: string[]
  topics?: AskedChoice[]
  act: ConsentAct
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
  const chosen = await choose(db, contact, topics, act, now)
  if (differs || joined > 0) await recordContact(db, 'contact.updated', next, now)
  await recordChoices(db, next, chosen, now)
  const kind = differs || joined > 0 || chosen.length > 0 ? 'updated' : 'unchanged'
  return { kind, contact: next }
}

function changed(contact: Contact, change: ContactChange, act: ConsentAct, now: number): Contact {
  const { firstName = contact.firstName, lastName = contact.lastName, properties } = change
  return {
    ...contact,
    firstName,
    lastName,
    properties: properties ? mergeProperties(contact.properties, properties) : contact.properties,
    optOut: optOutAfter(contact.optOut, change.unsubscribed, act, now),
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

/** Updates the log and the count when a contact opted out of everything or back in. */
async function recordOptOut(
  db: Db,
  before: Contact,
  after: Contact,
  act: ConsentAct,
  now: number,
): Promise<void> {
  if ((before.optOut === null) === (after.optOut === null)) return
  const [was, subscription] = after.optOut
    ? (['opt_in', 'opt_out'] as const)
    : (['opt_out', 'opt_in'] as const)
  await recordConsents(db, after, [{ scope: '', was, subscription }], act, now)
  if (after.optOut) await addCounts(db, after.teamId, contactsOptedOut(after.optOut.at, 1))
  if (before.optOut) await addCounts(db, after.teamId, contactsOptedOut(before.optOut.at, -1))
}

/**
 * Changes one contact. `taken`: another contact has the new address, and nothing was changed. After a change of
 * address, the contact stays opted out, and so does its old address. Records `contact.updated`.
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
    act: ConsentAct
  },
  now: number,
): Promise<Contact | 'unknown' | 'taken'> {
  const before = await getContact(db, { teamId, ref })
  if (!before) return 'unknown'
  const contact = email === undefined ? before : await moveContact(db, before, email)
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
