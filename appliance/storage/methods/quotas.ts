import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'
import type { Usage, UsageHistory } from '../storage.ts'

type Db = Kysely<Tables>

/** The names of the UTC day and month of a moment, as `quotas.period` has them. */
export function periodsOf(now: number): { day: string; month: string } {
  const day = new Date(now).toISOString().slice(0, 10)
  return { day, month: day.slice(0, 7) }
}

const DAY = 86_400_000

/** The names of the newest UTC days, oldest first; the last one is that of `now`. */
function newestDays(now: number, count: number): string[] {
  return Array.from({ length: count }, (_, i) => periodsOf(now - (count - 1 - i) * DAY).day)
}

/** The names of the newest UTC months, oldest first. */
function newestMonths(now: number, count: number): string[] {
  const date = new Date(now)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  return Array.from({ length: count }, (_, i) => periodsOf(Date.UTC(year, month - (count - 1 - i), 1)).month)
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

/** See `Storage.usageHistory`. */
export async function usageHistory(
  db: Db,
  { teamId, days, months }: { teamId: string; days: number; months: number },
  now: number,
): Promise<UsageHistory> {
  const wanted = { days: newestDays(now, days), months: newestMonths(now, months) }
  const rows = await db
    .selectFrom('quotas')
    .select(['period', 'used'])
    .where('team_id', '=', teamId)
    .where('period', 'in', [...wanted.days, ...wanted.months])
    .execute()
  const used = new Map(rows.map((row) => [row.period, row.used]))
  const whole = (periods: string[]) => periods.map((period) => ({ period, used: used.get(period) ?? 0 }))
  return { days: whole(wanted.days), months: whole(wanted.months) }
}
