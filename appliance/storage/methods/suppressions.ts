import type { Kysely, Selectable } from 'kysely'
import { suppressionKey } from '../../mail/suppression.ts'
import type { SuppressionsTable, Tables } from '../schema.ts'
import type { Page, Suppression, SuppressionStorage } from '../storage.ts'

type Db = Kysely<Tables>
type Args<M extends keyof SuppressionStorage> = Parameters<SuppressionStorage[M]>[0]

const toSuppression = (row: Selectable<SuppressionsTable>): Suppression => ({
  id: row.id,
  teamId: row.team_id,
  email: row.email,
  origin: row.origin,
  sourceId: row.source_id,
  createdAt: row.created_at,
})

/** See `SuppressionStorage.addSuppressions`. The unique address decides. */
export async function addSuppressions(
  db: Db,
  { teamId, suppressions }: Args<'addSuppressions'>,
): Promise<Suppression[]> {
  const stored: Suppression[] = []
  for (const one of suppressions) {
    await db
      .insertInto('suppressions')
      .values({
        id: one.id,
        team_id: teamId,
        address: suppressionKey(one.email),
        email: one.email,
        origin: one.origin,
        source_id: one.sourceId,
        created_at: one.createdAt,
      })
      .onConflict((conflict) => conflict.columns(['team_id', 'address']).doNothing())
      .execute()
    stored.push((await getSuppression(db, { teamId, ref: { email: one.email } }))!)
  }
  return stored
}

/** See `SuppressionStorage.findSuppressed`. One read on the unique index. */
export async function findSuppressed(
  db: Db,
  { teamId, addresses }: Args<'findSuppressed'>,
): Promise<(Suppression & { address: string })[]> {
  if (addresses.length === 0) return []
  const rows = await db
    .selectFrom('suppressions')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('address', 'in', [...new Set(addresses.map(suppressionKey))])
    .execute()
  const found = new Map(rows.map((row) => [row.address, toSuppression(row)]))
  return addresses.flatMap((address) => {
    const suppression = found.get(suppressionKey(address))
    return suppression ? [{ ...suppression, address }] : []
  })
}

/** See `SuppressionStorage.getSuppression`. */
export async function getSuppression(
  db: Db,
  { teamId, ref }: Args<'getSuppression'>,
): Promise<Suppression | undefined> {
  const row = await db
    .selectFrom('suppressions')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('id' in ref ? 'id' : 'address', '=', 'id' in ref ? ref.id : suppressionKey(ref.email))
    .executeTakeFirst()
  return row && toSuppression(row)
}

/** See `SuppressionStorage.listSuppressions`. */
export async function listSuppressions(
  db: Db,
  { teamId, origin, limit, after, before }: Args<'listSuppressions'>,
): Promise<Page<Suppression>> {
  let query = db.selectFrom('suppressions').selectAll().where('team_id', '=', teamId)
  if (origin !== undefined) query = query.where('origin', '=', origin)
  if (after !== undefined) query = query.where('id', '<', after)
  if (before !== undefined) query = query.where('id', '>', before)
  // Towards newer ones the nearest come first, and are turned round.
  const rows = await query
    .orderBy('id', before === undefined ? 'desc' : 'asc')
    .limit(limit + 1)
    .execute()
  const items = rows.slice(0, limit).map(toSuppression)
  return { items: before === undefined ? items : items.toReversed(), hasMore: rows.length > limit }
}

/** See `SuppressionStorage.removeSuppressions`. */
export async function removeSuppressions(
  db: Db,
  { teamId, refs }: Args<'removeSuppressions'>,
): Promise<Suppression[]> {
  const removed: Suppression[] = []
  for (const ref of refs) {
    const found = await getSuppression(db, { teamId, ref })
    if (!found) continue
    await db.deleteFrom('suppressions').where('id', '=', found.id).execute()
    removed.push(found)
  }
  return removed
}
