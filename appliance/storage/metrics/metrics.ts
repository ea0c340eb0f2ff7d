/** Metrics: roll-ups of the events, written together with the events. */
import { sql } from 'kysely'
import type { Db, MetricsTable } from '../schema.ts'
import { buildValues } from '../lists.ts'
import {
  QUARTER_HOUR_MS,
  startOfQuarterHour,
  type SumDimension,
  type BreakdownQuery,
  type MetricsQuery,
} from './counters.ts'
import { recountBroadcasts } from './broadcasts.ts'
import { correctSums } from './sums.ts'
import { recountTags, buildTagQuery } from './tags.ts'

/** The sum of a counter for one of the ranges. */
export interface MetricsSum {
  /** Start of the range. */
  start: number
  domainId: string
  /** Name of the counter, such as `delivered` or `bounced_permanent` (metrics/counters.ts). */
  counter: string
  n: number
}

/**
 * The sum of a counter for one domain, provider or tag (`name:value`). `value` is null for all that aren't returned
 * separately.
 */
export interface BreakdownSum {
  value: string | null
  counter: string
  n: number
}

/** The sum of a counter for one email in one of the ranges. */
export interface EmailMetricsSum extends MetricsSum {
  emailId: string
}

/** The period in which a team has events or counters. */
export interface MetricsSpan {
  teamId: string
  first: number
  last: number
}

/** Number of ranges per statement. Each takes two parameters, and the engine allows 32,766. */
const ROUND = 2000

type Range = MetricsQuery['ranges'][number]

/** Builds a table `ranges (start, at, until)`. `start` identifies the range that a chunk of time belongs to. */
const rangesTable = (spans: readonly (Range & { of: number })[]) =>
  buildValues(
    ['bigint', 'bigint', 'bigint'],
    spans.map(({ of, start, end }) => [of, start, end]),
  )

/** Rounds a range to whole quarter hours, the smallest unit of the roll-ups. */
const inQuarters = ({ start, end }: Range): Range => ({
  start: startOfQuarterHour(start),
  end: startOfQuarterHour(end - 1) + QUARTER_HOUR_MS,
})

/**
 * Splits a range into single quarter hours or sums, so that the primary key finds the few rows of one value without reading
 * others.
 */
function oneByOne({ start, end }: Range, length: number): Range[] {
  const count = Math.round((end - start) / length)
  return Array.from({ length: count }, (_, i) => ({
    start: start + i * length,
    end: start + (i + 1) * length,
  }))
}

type Filter = Pick<MetricsQuery, 'domainIds' | 'providers'>

/** Filters rows `m` by the requested domains and providers. */
const onlyOf = ({ domainIds, providers }: Filter) => {
  const domains = domainIds ? sql`and m.domain_id in (${sql.join(domainIds)})` : sql``
  return providers ? sql`${domains} and m.provider in (${sql.join(providers)})` : domains
}

/** Returns the table from which to read rows `m`, the condition, and the column of the dimension. */
function rowsOf(query: Filter & { teamId: string; length?: number | undefined }, dimension: SumDimension) {
  const { teamId, length, domainIds, providers } = query
  if (length === undefined)
    return {
      from: sql`metrics m`,
      where: sql`m.team_id = ${teamId} ${onlyOf(query)}`,
      value: sql.ref(dimension === 'provider' ? 'm.provider' : 'm.domain_id'),
    }
  const values = dimension === 'domain' ? domainIds : providers
  const only = values ? sql`and m.value in (${sql.join(values)})` : sql``
  return {
    from: sql`metrics_sums m`,
    where: sql`m.team_id = ${teamId} and m.dimension = ${dimension} and m.length = ${length} ${only}`,
    value: sql.ref('m.value'),
  }
}

/** Returns the dimension of the sums that contain the result of a query. */
function dimensionOf({ together, domainIds, providers }: MetricsQuery): SumDimension {
  if (providers) return 'provider'
  return together === true && !domainIds ? 'all' : 'domain'
}

/** Whether the primary key finds the rows of one chunk without reading others. */
const isNarrow = ({ domainIds, providers, length }: Filter & { length?: number | undefined }): boolean =>
  domainIds !== undefined || (providers !== undefined && length !== undefined)

/**
 * Sums roll-ups. Pass at most a day of quarter hours per call, because a month of a large team blocks the reading thread
 * for a second (see `sumInChunks` in events/metrics-pieces.ts).
 */
async function sumMetrics(db: Db, query: MetricsQuery): Promise<MetricsSum[]> {
  const { length } = query
  const { from, where, value } = rowsOf(query, dimensionOf(query))
  const domain = query.together ? sql`''` : value
  const apart = query.together ? sql`` : sql`${value},`
  const sums = new Map<string, MetricsSum>()
  const spans = query.ranges.flatMap((range) => {
    const whole = length === undefined ? inQuarters(range) : range
    const parts = isNarrow(query) ? oneByOne(whole, length ?? QUARTER_HOUR_MS) : [whole]
    return parts.map((part) => ({ ...part, of: range.start }))
  })
  for (let at = 0; at < spans.length; at += ROUND) {
    const { rows } = await sql<{ start: number; domain_id: string; counter: string; n: number }>`
      with ranges (start, at, until) as ${rangesTable(spans.slice(at, at + ROUND))}
      select ranges.start, ${domain} as domain_id, m.counter, sum(m.n) as n
      from ranges cross join ${from}
      where ${where} and ${isNarrow(query) ? sql`m.at = ranges.at` : sql`m.at >= ranges.at and m.at < ranges.until`}
      group by ranges.start, ${apart} m.counter
    `.execute(db)
    for (const { start, domain_id: domainId, counter, n } of rows) {
      const key = `${start} ${domainId} ${counter}`
      const known = sums.get(key)
      if (known) known.n += Number(n)
      else sums.set(key, { start: Number(start), domainId, counter, n: Number(n) })
    }
  }
  return [...sums.values()]
}

/**
 * Sums roll-ups by domain, mailbox provider or tag. Pass at most a day of quarter hours per call (see
 * `breakDownInChunks`). With a `length`, the only filter allowed is by the breakdown's own dimension; a breakdown by
 * tag allows one filter. Tags have only daily sums, and only those that `addTagCounts` has added.
 */
async function breakDownMetrics(db: Db, query: BreakdownQuery): Promise<BreakdownSum[]> {
  const { length } = query
  const range = length === undefined ? inQuarters(query.range) : query.range
  const { from, where, value } = query.by === 'tag' ? buildTagQuery(query) : rowsOf(query, query.by)
  const parts = isNarrow(query) ? oneByOne(range, length ?? QUARTER_HOUR_MS) : [range]
  const { rows } = await sql<BreakdownSum>`
    with ranges (start, at, until) as ${rangesTable(parts.map((part) => ({ ...part, of: 0 })))},
    sums as (
      select ${value} as value, m.counter, sum(m.n) as n from ranges cross join ${from}
      where ${where} and ${isNarrow(query) ? sql`m.at = ranges.at` : sql`m.at >= ranges.at and m.at < ranges.until`}
        and m.counter in (${sql.join(query.counters)})
      group by ${value}, m.counter
    ),
    largest as (
      select value from sums where value is not null group by value order by sum(n) desc, value limit ${query.most}
    ),
    told as (
      select case when value in (select value from largest) then value end as value, counter, n from sums
    )
    select value, counter, sum(n) as n from told group by value, counter
  `.execute(db)
  return rows.map(({ value: told, counter, n }) => ({ value: told, counter, n: Number(n) }))
}

/**
 * Sums events of these emails, or of all emails. Returns undefined if it would have to read more than `mostEvents`; then
 * the query must be narrowed.
 */
async function sumEmailMetrics(
  db: Db,
  {
    teamId,
    domainIds,
    ranges,
    emailIds,
    mostEvents,
  }: MetricsQuery & { emailIds?: string[] | undefined; mostEvents: number },
): Promise<EmailMetricsSum[] | undefined> {
  const [from, until] = [ranges[0]!.start, ranges.at(-1)!.end]
  let query = db
    .selectFrom('events')
    .select(['email_id', 'domain_id', 'counted', 'amount', 'created_at'])
    .where('team_id', '=', teamId)
    .where('created_at', '>=', from)
    .where('created_at', '<', until)
    .where('email_id', 'is not', null)
  if (emailIds) query = query.where('email_id', 'in', emailIds)
  if (domainIds) query = query.where('domain_id', 'in', domainIds)
  const rows = await query.limit(mostEvents + 1).execute()
  if (rows.length > mostEvents) return undefined
  const sums = new Map<string, EmailMetricsSum>()
  for (const row of rows) {
    const range = ranges.findLast(({ start }) => start <= row.created_at)!
    for (const counter of row.counted.split(' ')) {
      const key = `${range.start} ${row.email_id!} ${counter}`
      const sum = sums.get(key)
      if (sum) sum.n += row.amount
      else
        sums.set(key, {
          start: range.start,
          emailId: row.email_id!,
          domainId: row.domain_id,
          counter,
          n: row.amount,
        })
    }
  }
  return [...sums.values()]
}

/** Returns, for each team, the period that can be recomputed. */
async function metricsSpans(db: Db): Promise<MetricsSpan[]> {
  const { rows } = await sql<{ team_id: string; first: number; last: number }>`
    select team_id, min(first) as first, max(last) as last from (
      select team_id, min(created_at) as first, max(created_at) as last from events group by team_id
      union all select team_id, min(at), max(at) from metrics group by team_id
    ) as spans group by team_id order by team_id
  `.execute(db)
  return rows.map(({ team_id, first, last }) => ({
    teamId: team_id,
    first: Number(first),
    last: Number(last),
  }))
}

type Row = MetricsTable

const keyOf = ({ at, domain_id, counter, provider }: Row) => `${at} ${domain_id} ${counter} ${provider}`

/**
 * Recomputes the roll-ups of a team from its events, for whole quarter hours from `start` (inclusive) to `end` (exclusive),
 * and the sums of those days. Also recomputes the roll-ups by tag, up to their cursor. Quarter hours with deleted events
 * are left unchanged. Returns the number of corrected counts, and the number of quarter hours left unchanged.
 */
async function recomputeMetrics(
  db: Db,
  { teamId, start, end }: { teamId: string; start: number; end: number },
): Promise<{ changed: number; left: number }> {
  const kept = await db
    .selectFrom('metrics_kept')
    .select('at')
    .where('team_id', '=', teamId)
    .where('at', '>=', start)
    .where('at', '<', end)
    .execute()
  const leave = new Set(kept.map(({ at }) => at))
  const stored = await db
    .selectFrom('metrics')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('at', '>=', start)
    .where('at', '<', end)
    .execute()
  const is = byKey(stored.filter(({ at }) => !leave.has(at)))
  const should = byKey((await counted(db, teamId, start, end)).filter(({ at }) => !leave.has(at)))
  const wrong = [...is.values()].filter((row) => !should.has(keyOf(row)))
  const missing = [...should.values()].filter((row) => is.get(keyOf(row))?.n !== row.n)
  for (const { at, domain_id, counter, provider } of wrong)
    await db
      .deleteFrom('metrics')
      .where('team_id', '=', teamId)
      .where('at', '=', at)
      .where('domain_id', '=', domain_id)
      .where('counter', '=', counter)
      .where('provider', '=', provider)
      .execute()
  for (const row of missing)
    await db
      .insertInto('metrics')
      .values(row)
      .onConflict((conflict) =>
        conflict.columns(['team_id', 'at', 'domain_id', 'counter', 'provider']).doUpdateSet({ n: row.n }),
      )
      .execute()
  const sums = await correctSums(db, teamId, { start, end })
  const tags = await recountTags(db, teamId, { start, end }, leave)
  const broadcasts = await recountBroadcasts(db, teamId, { start, end }, leave)
  return { changed: wrong.length + missing.length + sums + tags + broadcasts, left: leave.size }
}

const byKey = (rows: Row[]) => new Map(rows.map((row) => [keyOf(row), row]))

/** Computes the roll-ups from the events. */
async function counted(db: Db, teamId: string, start: number, end: number): Promise<Row[]> {
  const sums = new Map<string, Row>()
  for (let at = start; at < end; at += QUARTER_HOUR_MS) {
    const events = await db
      .selectFrom('events')
      .select(['domain_id', 'provider', 'counted'])
      .select((select) => select.fn.sum<number>('amount').as('n'))
      .where('team_id', '=', teamId)
      .where('created_at', '>=', at)
      .where('created_at', '<', at + QUARTER_HOUR_MS)
      .where('counted', '!=', '')
      .groupBy(['domain_id', 'provider', 'counted'])
      .execute()
    for (const { domain_id, provider, counted: counters, n } of events)
      for (const counter of counters.split(' ')) {
        const row = { team_id: teamId, at, domain_id, counter, provider, n: Number(n) }
        const known = sums.get(keyOf(row))
        if (known) known.n += row.n
        else sums.set(keyOf(row), row)
      }
  }
  return [...sums.values()]
}

export const methods = {
  reads: { sumMetrics, breakDownMetrics, sumEmailMetrics, metricsSpans },
  writes: { recomputeMetrics },
}
