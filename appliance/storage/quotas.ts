/** Sending limits of teams, and their usage. */
import type { Db } from './schema.ts'
import type { Connection } from './connection.ts'
import { getPendingCounters } from './engine/group-commit.ts'

/** Number of recipients accepted in the current UTC day and month. */
export interface Usage {
  daily: number
  monthly: number
}

/** Number of recipients accepted in one UTC day (`2026-11-20`) or month (`2026-11`). */
export interface PeriodUsage {
  period: string
  used: number
}

export interface UsageHistory {
  days: PeriodUsage[]
  months: PeriodUsage[]
}

/** The limits for one `put`. Every recipient counts, including suppressed ones. */
export interface QuotaLimit {
  teamId: string
  /** Limit per UTC day; null if unlimited. Recipients are counted in both cases. */
  daily: number | null
  /** Limit per UTC month; null if unlimited. */
  monthly: number | null
}

/** Formats the UTC day and month of a time, as in `quotas.period`. */
function periodsOf(now: number): { day: string; month: string } {
  const day = new Date(now).toISOString().slice(0, 10)
  return { day, month: day.slice(0, 7) }
}

const DAY = 86_400_000

/** Lists the last UTC days, oldest first, ending with that of `now`. */
function newestDays(now: number, count: number): string[] {
  return Array.from({ length: count }, (_, i) => periodsOf(now - (count - 1 - i) * DAY).day)
}

/** Lists the last UTC months, oldest first, ending with that of `now`. */
function newestMonths(now: number, count: number): string[] {
  const date = new Date(now)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  return Array.from({ length: count }, (_, i) => periodsOf(Date.UTC(year, month - (count - 1 - i), 1)).month)
}

/** Returns the name of the team's plan; undefined if the team doesn't exist. */
async function planOf(db: Db, args: { teamId: string }): Promise<string | undefined> {
  const row = await db.selectFrom('teams').select('plan').where('id', '=', args.teamId).executeTakeFirst()
  return row?.plan
}

/** Changes the plan. Returns false if the team doesn't exist. */
async function setPlan(db: Db, args: { teamId: string; plan: string }): Promise<boolean> {
  const updated = await db
    .updateTable('teams')
    .set({ plan: args.plan })
    .where('id', '=', args.teamId)
    .executeTakeFirstOrThrow()
  return updated.numUpdatedRows > 0n
}

/** Returns the usage in the UTC day and month of `now`. */
async function usage(db: Db, args: { teamId: string }, now: number): Promise<Usage> {
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

/** Returns the usage in the last UTC days and months up to `now`, oldest first, including periods without usage. */
async function usageHistory(
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

/**
 * Counts test emails in the UTC hour of `now`, unless their number would exceed `most`. Returns whether they were counted.
 * Deletes the counts of earlier hours.
 */
async function countTests(
  db: Db,
  { teamId, emails, most }: { teamId: string; emails: number; most: number },
  now: number,
): Promise<boolean> {
  const period = `tests ${new Date(now).toISOString().slice(0, 13)}`
  await db
    .deleteFrom('quotas')
    .where('team_id', '=', teamId)
    .where('period', 'like', 'tests %')
    .where('period', '<', period)
    .execute()
  const counted = await db
    .insertInto('quotas')
    .values({ team_id: teamId, period, used: emails })
    .onConflict((conflict) =>
      conflict
        .columns(['team_id', 'period'])
        .doUpdateSet((set) => ({ used: set('quotas.used', '+', set.ref('excluded.used')) }))
        .where((row) => row(row('quotas.used', '+', row.ref('excluded.used')), '<=', most)),
    )
    .returning('used')
    .executeTakeFirst()
  return counted !== undefined
}

/** Part of `put`: counts recipients. If they exceed a limit, counts nothing and returns its period. */
export type CountRecipients = (
  quota: QuotaLimit,
  recipients: number,
  now: number,
) => Usage | 'daily' | 'monthly'

export function createRecipientCounter(db: Connection): CountRecipients {
  const gathering = getPendingCounters(db)
  const counters = gathering.of(createCounters)

  return ({ teamId, daily, monthly }, recipients, now) => {
    const { day, month } = periodsOf(now)
    const [ofMonth, ofDay] = [counters.of(teamId, month), counters.of(teamId, day)]
    const isOver = (counter: Counter, limit: number | null) =>
      limit !== null && counter.used + recipients > limit
    // Check the month first, because a team over both limits can't send tomorrow either.
    if (isOver(ofMonth, monthly)) return 'monthly'
    if (isOver(ofDay, daily)) return 'daily'
    for (const counter of [ofDay, ofMonth]) {
      counter.used += recipients
      counter.added += recipients
    }
    gathering.written()
    return { daily: ofDay.used, monthly: ofMonth.used }
  }
}

/** Number of recipients of a team in a period: in total, and since the last write. */
interface Counter {
  teamId: string
  period: string
  used: number
  added: number
}

/** Creates the counters of a commit. Each counter is read once and written once. */
function createCounters(db: Connection) {
  const read = db
    .prepare<[string, string], number>('select used from quotas where team_id = ? and period = ?')
    .pluck()
  const add = db.prepare<[string, string, number]>(
    `insert into quotas (team_id, period, used) values (?, ?, ?)
     on conflict (team_id, period) do update set used = quotas.used + excluded.used`,
  )
  const counters = new Map<string, Counter>()
  return {
    of(teamId: string, period: string): Counter {
      const key = `${teamId} ${period}`
      let found = counters.get(key)
      if (!found)
        counters.set(key, (found = { teamId, period, used: read.get(teamId, period) ?? 0, added: 0 }))
      return found
    },
    write(): void {
      for (const { teamId, period, added } of counters.values()) if (added > 0) add.run(teamId, period, added)
      counters.clear()
    },
    forget(): void {
      counters.clear()
    },
  }
}

export const methods = {
  reads: { planOf, usage, usageHistory },
  writes: { setPlan, countTests },
}
