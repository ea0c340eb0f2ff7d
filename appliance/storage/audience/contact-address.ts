/** Changes and removals of contact addresses. Opt-outs stay with the address. */
import { suppressionKey } from '../../mail/suppression.ts'
import type { Db } from '../schema.ts'
import { choicesOf } from './choices.ts'
import { hashConsents } from './consents.ts'
import { recordContact } from './contact-events.ts'
import { type Contact, getContact, hashOf } from './contact-rows.ts'
import { addCounts, contactsCreated, contactsOptedOut, type Delta } from './counts.ts'
import { dropMemberships } from './memberships.ts'
import { keepOptOuts, keptOptOuts, takeOptOuts } from './opt-outs.ts'

/**
 * Changes the address of a contact, if no other contact has the new one. Keeps the opt-outs of the old address, and
 * applies the opt-outs of the new address.
 */
export async function moveContact(db: Db, contact: Contact, email: string): Promise<Contact | 'taken'> {
  if (email === contact.email) return contact
  const { teamId, id } = contact
  const key = suppressionKey(email)
  const sameKey = key === suppressionKey(contact.email)
  if (!sameKey && (await getContact(db, { teamId, ref: { email } }))) return 'taken'
  if (!sameKey) await keepOptOuts(db, contact, await hashOf(db, teamId, contact.email))
  const kept = sameKey ? undefined : await keptOptOuts(db, teamId, email)
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
  if (kept) await takeOptOuts(db, moved, kept)
  if (optOut && !contact.optOut) await addCounts(db, teamId, contactsOptedOut(optOut.at, 1))
  return moved
}

/**
 * Removes a contact with everything that belongs to it, except its opt-outs and the consent log, which stay under the
 * hash of its address. Records `contact.deleted`.
 * @param told the contact as the event describes it
 */
export async function removeContact(
  db: Db,
  contact: Contact,
  now: number,
  told: Contact = contact,
): Promise<void> {
  await recordContact(db, 'contact.deleted', told, now)
  await dropContact(db, contact)
}

/** Removes a contact as `removeContact` does. Records nothing. */
export async function dropContact(db: Db, contact: Contact): Promise<void> {
  const { teamId, id } = contact
  const hash = await hashOf(db, teamId, contact.email)
  await keepOptOuts(db, contact, hash)
  await hashConsents(db, contact, hash)
  await dropMemberships(db, contact)
  const counts = await dropChoices(db, contact)
  await db.deleteFrom('contacts').where('team_id', '=', teamId).where('id', '=', id).execute()
  counts.push(...contactsCreated(contact.createdAt, -1))
  if (contact.optOut) counts.push(...contactsOptedOut(contact.optOut.at, -1))
  await addCounts(db, teamId, counts)
}

async function dropChoices(db: Db, { id }: Contact): Promise<Delta[]> {
  const choices = (await choicesOf(db, [id])).get(id)?.values() ?? []
  await db.deleteFrom('contact_topics').where('contact_id', '=', id).execute()
  return [...choices].map(({ topicId, subscription }): Delta => [subscription, topicId, -1])
}
