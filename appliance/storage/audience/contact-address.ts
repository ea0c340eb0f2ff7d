/** Changes and removals of contact addresses. Opt-outs stay with the address. */
import { toSuppressionKey } from '../../mail/suppression.ts'
import type { Db } from '../schema.ts'
import { getChoices } from './choices.ts'
import { hashConsents } from './consents.ts'
import { recordContactEvent } from './contact-events.ts'
import { type Contact, getContact, hashContactAddress } from './contact-rows.ts'
import { addCounts, createdContactDeltas, optOutDeltas, type Delta } from './counts.ts'
import { deleteMemberships } from './memberships.ts'
import { keepOptOuts, getKeptOptOuts, restoreOptOuts } from './opt-outs.ts'

/**
 * Changes the address of a contact, if no other contact has the new one. Keeps the opt-outs of the old address, and
 * applies the opt-outs of the new address.
 */
export async function changeContactAddress(
  db: Db,
  contact: Contact,
  email: string,
): Promise<Contact | 'taken'> {
  if (email === contact.email) return contact
  const { teamId, id } = contact
  const key = toSuppressionKey(email)
  const sameKey = key === toSuppressionKey(contact.email)
  if (!sameKey && (await getContact(db, { teamId, ref: { email } }))) return 'taken'
  if (!sameKey) await keepOptOuts(db, contact, await hashContactAddress(db, teamId, contact.email))
  const kept = sameKey ? undefined : await getKeptOptOuts(db, teamId, email)
  const optOut = contact.optOut ?? kept?.ofAll ?? null
  const moved = { ...contact, email, optOut }
  await db
    .updateTable('contacts')
    .set({
      email,
      address_key: key,
      unsubscribed_at: optOut?.at ?? null,
      unsubscribed_by: optOut?.origin ?? null,
    })
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .execute()
  if (kept) await restoreOptOuts(db, moved, kept)
  if (optOut && !contact.optOut) await addCounts(db, teamId, optOutDeltas(optOut.at, 1))
  return moved
}

/**
 * Removes a contact and all related data, except its opt-outs and consent log, which are kept under the hash of its
 * address. Records `contact.deleted`.
 * @param told the contact's data for the event
 */
export async function removeContact(
  db: Db,
  contact: Contact,
  now: number,
  told: Contact = contact,
): Promise<void> {
  await recordContactEvent(db, 'contact.deleted', told, now)
  await removeContactSilently(db, contact)
}

/** Removes a contact as `removeContact` does, but records nothing. */
export async function removeContactSilently(db: Db, contact: Contact): Promise<void> {
  const { teamId, id } = contact
  const hash = await hashContactAddress(db, teamId, contact.email)
  await keepOptOuts(db, contact, hash)
  await hashConsents(db, contact, hash)
  await deleteMemberships(db, contact)
  const counts = await dropChoices(db, contact)
  await db.deleteFrom('contacts').where('team_id', '=', teamId).where('id', '=', id).execute()
  counts.push(...createdContactDeltas(contact.createdAt, -1))
  if (contact.optOut) counts.push(...optOutDeltas(contact.optOut.at, -1))
  await addCounts(db, teamId, counts)
}

async function dropChoices(db: Db, { id }: Contact): Promise<Delta[]> {
  const choices = (await getChoices(db, [id])).get(id)?.values() ?? []
  await db.deleteFrom('contact_topics').where('contact_id', '=', id).execute()
  return [...choices].map(({ topicId, subscription }): Delta => [subscription, topicId, -1])
}
