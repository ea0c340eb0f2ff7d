import type { Kysely, Selectable } from 'kysely'
import type { HoldRulesTable, Tables } from '../schema.ts'
import type { HoldRule, SpoolStorage } from '../storage.ts'

type Db = Kysely<Tables>
type Args<M extends keyof SpoolStorage> = Parameters<SpoolStorage[M]>[0]

/** A row as the port shows it. */
export const toHoldRule = (row: Selectable<HoldRulesTable>): HoldRule => ({
  id: row.id,
  teamId: row.team_id,
  domain: row.domain,
  provider: row.provider,
  tag: row.tag_name === null ? null : { name: row.tag_name, value: row.tag_value },
  createdAt: row.created_at,
})

/** See `SpoolStorage.addHoldRule`. */
export async function addHoldRule(db: Db, { rule, most }: Args<'addHoldRule'>): Promise<boolean> {
  const { id, teamId, domain, provider, tag, createdAt } = rule
  const { count } = await db
    .selectFrom('hold_rules')
    .select((row) => row.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  if (Number(count) >= most) return false
  await db
    .insertInto('hold_rules')
    .values({
      id,
      team_id: teamId,
      domain,
      provider,
      tag_name: tag?.name ?? null,
      tag_value: tag?.value ?? null,
      created_at: createdAt,
    })
    .execute()
  return true
}

/** See `SpoolStorage.listHoldRules`. */
export async function listHoldRules(db: Db, { teamId }: Args<'listHoldRules'>): Promise<HoldRule[]> {
  let query = db.selectFrom('hold_rules').selectAll()
  if (teamId !== undefined) query = query.where('team_id', '=', teamId)
  return (await query.orderBy('id').execute()).map(toHoldRule)
}

/** See `SpoolStorage.removeHoldRule`. */
export async function removeHoldRule(db: Db, { id }: Args<'removeHoldRule'>): Promise<boolean> {
  const deleted = await db.deleteFrom('hold_rules').where('id', '=', id).executeTakeFirstOrThrow()
  return deleted.numDeletedRows > 0n
}
