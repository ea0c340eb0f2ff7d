/** Rows of contacts, and functions to find a contact by ID or address. */
import type { Insertable, Selectable } from 'kysely'
import type { ConsentOrigin, OptOut, PropertyValue } from '../../mail/audience.ts'
import { hashAddress } from '../../mail/erasure.ts'
import { toSuppressionKey } from '../../mail/suppression.ts'
import { getErasureKey } from '../erasures/scan.ts'
import type { Db } from '../schema.ts'
import type { ContactsTable } from './tables.ts'

export interface Contact {
  id: string
  teamId: string
  /** The address as first added, with its domain in A-labels. */
  email: string
  firstName: string | null
  lastName: string | null
  /** Values by the label of their property. */
  properties: Record<string, PropertyValue>
  /** The opt-out of everything; null if subscribed. */
  optOut: OptOut | null
  createdBy: ConsentOrigin
  /** The API key, user or import that created the contact; null if unknown. */
  createdFrom: string | null
  createdAt: number
  updatedAt: number
  /** When a person, not a bot, last opened or clicked an email to the contact; null if never. */
  lastOpenedAt: number | null
  lastClickedAt: number | null
}

/** Identifies a contact by ID, or by address ignoring case. */
export type ContactRef = { id: string } | { email: string }

export const toContact = (row: Selectable<ContactsTable>): Contact => ({
  id: row.id,
  teamId: row.team_id,
  email: row.email,
  firstName: row.first_name,
  lastName: row.last_name,
  properties: JSON.parse(row.properties) as Contact['properties'],
  optOut: row.unsubscribed_at === null ? null : { at: row.unsubscribed_at, origin: row.unsubscribed_by! },
  createdBy: row.created_by,
  createdFrom: row.created_from,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  lastOpenedAt: row.last_opened_at,
  lastClickedAt: row.last_clicked_at,
})

export const toRow = (contact: Contact): Insertable<ContactsTable> => ({
  id: contact.id,
  team_id: contact.teamId,
  email: contact.email,
  address_key: toSuppressionKey(contact.email),
  first_name: contact.firstName,
  last_name: contact.lastName,
  properties: JSON.stringify(contact.properties),
  unsubscribed_at: contact.optOut?.at ?? null,
  unsubscribed_by: contact.optOut?.origin ?? null,
  created_by: contact.createdBy,
  created_from: contact.createdFrom,
  created_at: contact.createdAt,
  updated_at: contact.updatedAt,
  last_opened_at: contact.lastOpenedAt,
  last_clicked_at: contact.lastClickedAt,
})

export async function getContact(
  db: Db,
  { teamId, ref }: { teamId: string; ref: ContactRef },
): Promise<Contact | undefined> {
  const query = db.selectFrom('contacts').selectAll().where('team_id', '=', teamId)
  const row = await (
    'id' in ref
      ? query.where('id', '=', ref.id)
      : query.where('address_key', '=', toSuppressionKey(ref.email))
  ).executeTakeFirst()
  return row && toContact(row)
}

/** Finds the contacts of a team with these addresses, by `toSuppressionKey`. */
export async function findContactsByKey(
  db: Db,
  teamId: string,
  keys: readonly string[],
): Promise<Map<string, Contact>> {
  if (keys.length === 0) return new Map()
  const rows = await db
    .selectFrom('contacts')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('address_key', 'in', [...new Set(keys)])
    .execute()
  return new Map(rows.map((row) => [row.address_key, toContact(row)]))
}

/** Returns the hash of an address for a team. */
export const hashContactAddress = async (db: Db, teamId: string, email: string): Promise<string> =>
  hashAddress(await getErasureKey(db), teamId, email)

export const methods = {
  reads: { getContact },
}
