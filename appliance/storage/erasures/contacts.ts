/** Erases the contact with an address. */
import { toSuppressionKey } from '../../mail/suppression.ts'
import { removeContact } from '../audience/contact-address.ts'
import { type Contact, getContact } from '../audience/contact-rows.ts'
import type { Db } from '../schema.ts'
import type { PhaseResult, ErasureContext } from './scan.ts'

/** Finds the contact of the address, if it still exists. */
export const findContactByAddress = (
  db: Db,
  { teamId, address }: ErasureContext,
): Promise<Contact | undefined> => getContact(db, { teamId, ref: { email: address } })

/**
 * Removes the contact and pending sign-ups through forms. Keeps the contact's opt-outs and consent log under the hash,
 * the log without IP addresses and similar data. Records the deletion for webhooks with only the contact's ID.
 */
export async function contactsPhase(
  db: Db,
  scan: ErasureContext,
  _after: string,
  now: number,
): Promise<PhaseResult> {
  const contact = await findContactByAddress(db, scan)
  if (contact && scan.write)
    await removeContact(db, contact, now, {
      ...contact,
      email: scan.pseudonym,
      firstName: null,
      lastName: null,
    })
  if (scan.write)
    await db
      .deleteFrom('form_signups')
      .where('team_id', '=', scan.teamId)
      .where('address_key', '=', toSuppressionKey(scan.address))
      .execute()
  const logged = db
    .selectFrom('consents')
    .select('id')
    .where('team_id', '=', scan.teamId)
    .where((row) => row.or([row('address_hash', '=', scan.hash), row('contact_id', '=', contact?.id ?? '')]))
  const consents = (await logged.execute()).length
  if (scan.write && consents > 0)
    await db
      .updateTable('consents')
      .set({ ip: null, user_agent: null })
      .where('team_id', '=', scan.teamId)
      .where('address_hash', '=', scan.hash)
      .execute()
  return { counts: { contacts: contact ? 1 : 0, consents }, next: null }
}

/** Removes names from stored event data about a contact. */
export function removeNames<T extends object>(data: T): T {
  if (!('contact' in data) || typeof data.contact !== 'object') return data
  return { ...data, contact: { ...data.contact, firstName: null, lastName: null } }
}
