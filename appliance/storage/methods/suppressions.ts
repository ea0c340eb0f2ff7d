import { sql, type Kysely, type Selectable } from 'kysely'
import { addressHash, erasedSuppressionKey } from '../../mail/erasure.ts'
import { suppressionKey } from '../../mail/suppression.ts'
import type { SuppressionsTable, Tables } from '../schema.ts'
import type { NewSuppression, Page, Suppression, SuppressionStorage } from '../storage.ts'
import { erasureKey } from './erasures.ts'
import { recordOthers, type OtherEvent } from './events.ts'
import { pageOf } from './page.ts'

type Db = Kysely<Tables>
type Args<M extends keyof SuppressionStorage> = Parameters<SuppressionStorage[M]>[0]

const toSuppression = (row: Selectable<SuppressionsTable>): Suppression => ({
  id: row.id,
  teamId: row.team_id,
  email: row.email,
  origin: row.origin,
  sourceId: row.source_id,
  reason: row.reason,
  reply: row.reply,
  removedAt: row.removed_at,
  createdAt: row.created_at,
})

const toRow = (one: NewSuppression, teamId: string, removedAt: number | null): SuppressionsTable => ({
  id: one.id,
  team_id: teamId,
  address: suppressionKey(one.email),
  email: one.email,
  origin: one.origin,
  source_id: one.sourceId,
  created_at: one.createdAt,
  reason: one.reason ?? null,
  reply: one.reply ?? null,
  removed_at: removedAt,
})

const tellOf =
  (type: OtherEvent['type']) =>
  ({ teamId, id, email, origin, sourceId, createdAt }: Suppression): OtherEvent => ({
    ...{ teamId, type },
    data: { suppression: { id, email, origin, sourceId, createdAt } },
  })

/** See `SuppressionStorage.addSuppressions`. The unique address decides. */
export async function addSuppressions(
  db: Db,
  { teamId, suppressions, quiet = false }: Args<'addSuppressions'>,
  now: number,
): Promise<Suppression[]> {
  if (suppressions.length === 0) return []
  const keys = suppressions.map(({ email }) => suppressionKey(email))
  const removed = await db
    .selectFrom('unsuppressed')
    .select(['address', 'removed_at'])
    .where('team_id', '=', teamId)
    .where('address', 'in', keys)
    .execute()
  const removedAt = new Map(removed.map((row) => [row.address, row.removed_at]))
  await db
    .insertInto('suppressions')
    .values(suppressions.map((one, at) => toRow(one, teamId, removedAt.get(keys[at]!) ?? null)))
    .onConflict((conflict) => conflict.columns(['team_id', 'address']).doNothing())
    .execute()
  const stored = await storedOf(db, teamId, keys)
  const fresh = new Set(suppressions.map(({ id }) => id))
  const added = [...stored.values()].filter(({ id }) => fresh.has(id))
  if (!quiet) await recordOthers(db, added.map(tellOf('suppression.added')), now)
  return keys.map((key) => stored.get(key)!)
}

/** The entries of some addresses, by `suppressionKey`. One read on the unique index. */
async function storedOf(db: Db, teamId: string, keys: string[]): Promise<Map<string, Suppression>> {
  const secret = await erasureKey(db)
  const hashed = new Map(keys.map((key) => [erasedSuppressionKey(addressHash(secret, teamId, key)), key]))
  const rows = await db
    .selectFrom('suppressions')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('address', 'in', [...new Set(keys), ...hashed.keys()])
    .execute()
  return new Map(rows.map((row) => [hashed.get(row.address) ?? row.address, toSuppression(row)]))
}

/** See `SuppressionStorage.findSuppressed`. */
export async function findSuppressed(
  db: Db,
  { teamId, addresses }: Args<'findSuppressed'>,
): Promise<(Suppression & { address: string })[]> {
  if (addresses.length === 0) return []
  const found = await storedOf(db, teamId, addresses.map(suppressionKey))
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
  if ('email' in ref) {
    const key = suppressionKey(ref.email)
    return (await storedOf(db, teamId, [key])).get(key)
  }
  const row = await db
    .selectFrom('suppressions')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('id', '=', ref.id)
    .executeTakeFirst()
  return row && toSuppression(row)
}

/** See `SuppressionStorage.listSuppressions`. */
export async function listSuppressions(
  db: Db,
  { teamId, origin, search, ...page }: Args<'listSuppressions'>,
): Promise<Page<Suppression>> {
  let query = db.selectFrom('suppressions').selectAll().where('team_id', '=', teamId)
  if (origin !== undefined) query = query.where('origin', '=', origin)
  if (search !== undefined) query = query.where(sql<boolean>`address like ${containing(search)} escape '\\'`)
  return pageOf(query, page, toSuppression)
}

const containing = (text: string): string => `%${suppressionKey(text).replaceAll(/[\\%_]/g, '\\$&')}%`

/** See `SuppressionStorage.removeSuppressions`. */
export async function removeSuppressions(
  db: Db,
  { teamId, refs }: Args<'removeSuppressions'>,
  now: number,
): Promise<Suppression[]> {
  const removed: Suppression[] = []
  for (const ref of refs) {
    const found = await getSuppression(db, { teamId, ref })
    if (!found) continue
    await db.deleteFrom('suppressions').where('id', '=', found.id).execute()
    await db
      .insertInto('unsuppressed')
      .values({ team_id: teamId, address: suppressionKey(found.email), removed_at: now })
      .onConflict((conflict) => conflict.columns(['team_id', 'address']).doUpdateSet({ removed_at: now }))
      .execute()
    removed.push(found)
  }
  await recordOthers(db, removed.map(tellOf('suppression.removed')), now)
  return removed
}
