import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'
import type { Usage } from '../storage.ts'

type Db = Kysely<Tables>

/** The names of the UTC day and month of a moment, as `quotas.period` has them. */
export function periodsOf(now: number): { day: string; month: string } {
  const day = new Date(now).toISOString().slice(0, 10)
  return { day, month: day.slice(0, 7) }
}

/** See `Storage.planOf`. */
export async function planOf(db: Db, args: { teamId: string }): Promise<string | undefined> {
  const row = await db.selectFrom('teams').select('plan').where('id', '=', args.teamId).executeTakeFirst()
  return row?.plan
}

/** See `Storage.setPlan`. */
export async function setPlan(db: Db, args: { teamId: string; plan: string }): Promise<boolean> {
  const updated = await db
    .updateTable('teams')
    .set({ plan: args.plan })
    .where('id', '=', args.teamId)
    .executeTakeFirstOrThrow()
  return updated.numUpdatedRows > 0n
}

/** See `Storage.usage`. */
export async function usage(db: Db, args: { teamId: string }, now: number): Promise<Usage> {
  const { day, month } = periodsOf(now)
  const rows = await db
    .selectFrom('quotas')
    .select(['period', 'used'])
    .where('team_id', '=', args.teamId)
    .where('period', 'in', [day, month])
    .execute()
  const used = (period: string) => rows.find((row) => row.period === period)?.used ?? 0
  return { daily: used(day), monthly: used(month) }
}
