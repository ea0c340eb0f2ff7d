/**
 * Sums of the roll-ups of past days, per UTC hour, day and week, so that a query for a month doesn't have to add up quarter
 * hours.
 */
import { type RawBuilder, sql } from 'kysely'
import type { Db, MetricsSumsTable } from '../schema.ts'
import { startOfSum, SUM_LENGTHS, type SumDimension } from './counters.ts'

interface Range {
  start: number
  end: number
}

const [WEEK, DAY, HOUR] = SUM_LENGTHS.all

/** Returns the midnight (UTC) before which the sums are complete; 0 if there are none. This time only moves forward. */
async function metricsSummed(db: Db, { teamId }: { teamId: string }): Promise<number> {
  const row = await db
    .selectFrom('metrics_summed')
    .select('until')
    .where('team_id', '=', teamId)
    .executeTakeFirst()
  return row?.until ?? 0
}

/** Lists teams with roll-ups of past days that haven't been summed up yet. */
async function metricsToSum(db: Db, _: object, now: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select t.id from teams t left join metrics_summed s on s.team_id = t.id
    where exists (
      select 1 from metrics m
      where m.team_id = t.id and m.at >= coalesce(s.until, 0) and m.at < ${startOfSum(DAY, now)}
    ) order by t.id
  `.execute(db)
  return rows.map(({ id }) => id)
}

/** Sums up the next past day of a team. Returns whether there was one. */
async function sumMetricsUp(db: Db, { teamId }: { teamId: string }, now: number): Promise<boolean> {
  const from = await metricsSummed(db, { teamId })
  const next = await db
    .selectFrom('metrics')
    .select('at')
    .where('team_id', '=', teamId)
    .where('at', '>=', from)
    .where('at', '<', startOfSum(DAY, now))
    .orderBy('at')
    .limit(1)
    .executeTakeFirst()
  // Days without mail have no sums.
  if (next) await sumDay(db, teamId, startOfSum(DAY, next.at))
  const until = next ? startOfSum(DAY, next.at) + DAY : Math.max(from, startOfSum(DAY, now))
  if (until === from) return false
  await sumWeeks(db, teamId, { start: from, end: until })
  await db
    .insertInto('metrics_summed')
    .values({ team_id: teamId, until })
    .onConflict((conflict) => conflict.column('team_id').doUpdateSet({ until }))
    .execute()
  return next !== undefined
}

/** Computes the sums of a day from its quarter hours. The day must not have any sums yet. Reads each row twice. */
async function sumDay(db: Db, teamId: string, day: number): Promise<void> {
  const range = { start: day, end: day + DAY }
  await fromQuarters(db, teamId, 'provider', HOUR, range)
  await fromSums(db, teamId, 'provider', { of: HOUR, length: DAY }, range)
  await fromQuarters(db, teamId, 'domain', DAY, range)
  await sql`
    insert into metrics_sums (team_id, dimension, length, at, value, counter, n)
    select ${teamId}, 'all', length, at, '', counter, sum(n) from metrics_sums
    where team_id = ${teamId} and dimension = 'provider' and length in (${HOUR}, ${DAY})
      and at >= ${range.start} and at < ${range.end}
    group by length, at, counter
  `.execute(db)
}

const fromQuarters = (db: Db, teamId: string, by: 'domain' | 'provider', length: number, range: Range) => {
  const value = sql.ref(by === 'domain' ? 'domain_id' : 'provider')
  // Written as a literal, because PostgreSQL never treats two parameters as equal, so that GROUP BY wouldn't match SELECT.
  const start = sql`at - at % ${sql.lit(length)}`
  return sql`
    insert into metrics_sums (team_id, dimension, length, at, value, counter, n)
    select ${teamId}, ${by}, ${length}, ${start}, ${value}, counter, sum(n) from metrics
    where team_id = ${teamId} and at >= ${range.start} and at < ${range.end}
    group by ${start}, ${value}, counter
  `.execute(db)
}

const fromSums = (
  db: Db,
  teamId: string,
  dimension: SumDimension,
  { of, length }: { of: number; length: number },
  { start, end }: Range,
) =>
  sql`
    insert into metrics_sums (team_id, dimension, length, at, value, counter, n)
    select ${teamId}, ${dimension}, ${length}, ${start}, value, counter, sum(n) from metrics_sums
    where team_id = ${teamId} and dimension = ${dimension} and length = ${of} and at >= ${start} and at < ${end}
    group by value, counter
  `.execute(db)

/**
 * Computes the sums of the weeks that end after `start` and up to `end`, both of which are midnights, from the sums of
 * their days.
 */
async function sumWeeks(db: Db, teamId: string, { start, end }: Range): Promise<void> {
  const days = await db
    .selectFrom('metrics_sums')
    .select('at')
    .distinct()
    .where('team_id', '=', teamId)
    .where('dimension', '=', 'all')
    .where('length', '=', DAY)
    .where('at', '>=', startOfSum(WEEK, start))
    .where('at', '<', end)
    .execute()
  const weeks = new Set(days.map(({ at }) => startOfSum(WEEK, at)))
  for (const week of weeks)
    if (week + WEEK > start && week + WEEK <= end)
      for (const dimension of ['all', 'domain', 'provider'] as const)
        await fromSums(db, teamId, dimension, { of: DAY, length: WEEK }, { start: week, end: week + WEEK })
}

type Row = MetricsSumsTable

const keyOf = ({ dimension, length, at, value, counter }: Row) =>
  `${dimension} ${length} ${at} ${value} ${counter}`

/**
 * Recomputes the sums of the days and weeks that overlap a range from the quarter hours. Returns the number of corrected
 * sums.
 */
export async function correctSums(db: Db, teamId: string, { start, end }: Range): Promise<number> {
  const until = await metricsSummed(db, { teamId })
  let wrong = 0
  for (let day = startOfSum(DAY, start); day < Math.min(end, until); day += DAY) {
    const week = startOfSum(WEEK, day)
    const where = sql`team_id = ${teamId} and dimension in ('all', 'domain', 'provider')
      and (length in (${HOUR}, ${DAY}) and at >= ${day} and at < ${day + DAY} or length = ${WEEK} and at = ${week})`
    const before = await stored(db, where)
    await sql`delete from metrics_sums where ${where}`.execute(db)
    await sumDay(db, teamId, day)
    if (week + WEEK <= until) await sumWeeks(db, teamId, { start: week, end: week + WEEK })
    const after = await stored(db, where)
    const keys = new Set([...before.keys(), ...after.keys()])
    // A missing count equals 0.
    for (const key of keys) if ((before.get(key) ?? 0) !== (after.get(key) ?? 0)) wrong += 1
  }
  return wrong
}

async function stored(db: Db, where: RawBuilder<unknown>): Promise<Map<string, number>> {
  const { rows } = await sql<Row>`select * from metrics_sums where ${where}`.execute(db)
  return new Map(rows.map((row) => [keyOf(row), Number(row.n)]))
}

export const methods = {
  reads: { metricsSummed, metricsToSum },
  writes: { sumMetricsUp },
}
