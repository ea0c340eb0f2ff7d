/** Contact properties of a team. */
import type { Selectable } from 'kysely'
import type { PropertyType, PropertyValue } from '../../mail/audience.ts'
import type { Db } from '../schema.ts'
import { propertyUses } from './property-uses.ts'
import type { ContactPropertiesTable } from './tables.ts'

export interface ContactProperty {
  id: string
  teamId: string
  /** Unique within the team, case-sensitive. */
  key: string
  /** The key under which values are stored. Never reused, not even after the property is deleted. */
  label: string
  type: PropertyType
  /** Value for contacts that have none; null if there is no fallback. */
  fallback: PropertyValue | null
  createdAt: number
}

const toProperty = (row: Selectable<ContactPropertiesTable>): ContactProperty => ({
  id: row.id,
  teamId: row.team_id,
  key: row.key,
  label: row.label,
  type: row.type,
  fallback: row.fallback === null ? null : (JSON.parse(row.fallback) as PropertyValue),
  createdAt: row.created_at,
})

const fallbackOf = (value: PropertyValue | null): string | null =>
  value === null ? null : JSON.stringify(value)

/** Lists all properties of a team, newest first. */
async function listContactProperties(db: Db, { teamId }: { teamId: string }): Promise<ContactProperty[]> {
  const rows = await db
    .selectFrom('contact_properties')
    .selectAll()
    .where('team_id', '=', teamId)
    .orderBy('id', 'desc')
    .execute()
  return rows.map(toProperty)
}

/**
 * Creates a property. Stores nothing if the team already has `most` properties. If two callers use the same key, its
 * unique index decides.
 */
async function createContactProperty(
  db: Db,
  { property, most }: { property: ContactProperty; most: number },
): Promise<'created' | 'taken' | 'too_many'> {
  const { n } = await db
    .selectFrom('contact_properties')
    .select((select) => select.fn.countAll<number>().as('n'))
    .where('team_id', '=', property.teamId)
    .executeTakeFirstOrThrow()
  if (Number(n) >= most) return 'too_many'
  const inserted = await db
    .insertInto('contact_properties')
    .values({
      id: property.id,
      team_id: property.teamId,
      key: property.key,
      label: property.label,
      type: property.type,
      fallback: fallbackOf(property.fallback),
      created_at: property.createdAt,
    })
    .onConflict((conflict) => conflict.columns(['team_id', 'key']).doNothing())
    .executeTakeFirstOrThrow()
  return inserted.numInsertedOrUpdatedRows === 0n ? 'taken' : 'created'
}

/**
 * Returns distinct values of a property, starting with those of the newest contacts.
 * @param args most: maximum number of values; among: number of the newest contacts to search
 */
async function propertyExamples(
  db: Db,
  { teamId, label, most, among }: { teamId: string; label: string; most: number; among: number },
): Promise<PropertyValue[]> {
  const rows = await db
    .selectFrom('contacts')
    .select('properties')
    .where('team_id', '=', teamId)
    .orderBy('id', 'desc')
    .limit(among)
    .execute()
  const found = new Set<PropertyValue>()
  for (const { properties } of rows) {
    const values = JSON.parse(properties) as Record<string, PropertyValue>
    if (Object.hasOwn(values, label)) found.add(values[label]!)
    if (found.size === most) break
  }
  return [...found]
}

/** Changes the fallback. Returns false if the property doesn't exist. */
async function setFallback(
  db: Db,
  { teamId, id, fallback }: { teamId: string; id: string; fallback: PropertyValue | null },
): Promise<boolean> {
  const updated = await db
    .updateTable('contact_properties')
    .set({ fallback: fallbackOf(fallback) })
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return updated.numUpdatedRows > 0n
}

/** Deletes a property and its values. Returns false if it doesn't exist. */
async function deleteContactProperty(
  db: Db,
  { teamId, id }: { teamId: string; id: string },
): Promise<boolean> {
  const deleted = await db
    .deleteFrom('contact_properties')
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return deleted.numDeletedRows > 0n
}

export const methods = {
  reads: { listContactProperties, propertyExamples, propertyUses },
  writes: { createContactProperty, setFallback, deleteContactProperty },
}
