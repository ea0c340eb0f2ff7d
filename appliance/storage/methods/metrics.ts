import { sql, type Kysely } from 'kysely'
import { QUARTER, quarterOf } from '../counters.ts'
import type { MetricsTable, Tables } from '../schema.ts'
import type {
  BreakdownQuery,
  BreakdownSum,
  LiveEvent,
  EmailMetricsSum,
  MetricsQuery,
  MetricsSpan,
  MetricsSum,
} from '../storage.ts'

type Db = Kysely<Tables>

/** Ranges in one statement: two values for each must fit the engine's 32 766 parameters. */
const ROUND = 2000

/** The ranges as a table `ranges (start, until)`; whole numbers, so they can be written out. */
const rangesTable = (ranges: readonly { start: number; end: number }[]) =>
  sql`(values ${sql.join(ranges.map(({ start, end }) => sql`(${start}, ${end})`))})`

/** Ranges in whole quarters, since the roll-ups know nothing smaller. */
const inQuarters = ({ start, end }: { start: number; end: number }) => ({
  start: quarterOf(start),
  end: quarterOf(end - 1) + QUARTER,
})

/** The domains and providers that are asked for, of rows called `m`. */
const onlyOf = ({ domainIds, providers }: Pick<MetricsQuery, 'domainIds' | 'providers'>) => {
  const domains = domainIds ? sql`and m.domain_id in (${sql.join(domainIds)})` : sql``
  return providers ? sql`${domains} and m.provider in (${sql.join(providers)})` : domains
}

/** See `MetricsStorage.sumMetrics`. */
export async function sumMetrics(db: Db, query: MetricsQuery): Promise<MetricsSum[]> {
  const { teamId, ranges } = query
  const domain = query.together ? sql`''` : sql`m.domain_id`
  const apart = query.together ? sql`` : sql`m.domain_id,`
  const sums: MetricsSum[] = []
  for (let at = 0; at < ranges.length; at += ROUND) {
    const round = ranges.slice(at, at + ROUND)
    const starts = new Map(round.map((range) => [quarterOf(range.start), range.start]))
    const { rows } = await sql<{ start: number; domain_id: string; counter: string; n: number }>`
      with ranges (start, until) as ${rangesTable(round.map(inQuarters))}
      select ranges.start, ${domain} as domain_id, m.counter, sum(m.n) as n
      from ranges cross join metrics m
      where m.team_id = ${teamId} and m.at >= ranges.start and m.at < ranges.until ${onlyOf(query)}
      group by ranges.start, ${apart} m.counter
    `.execute(db)
    for (const { start, domain_id: domainId, counter, n } of rows)
      sums.push({ start: starts.get(Number(start))!, domainId, counter, n: Number(n) })
  }
  return sums
}

/** See `MetricsStorage.breakDownMetrics`. */
export async function breakDownMetrics(db: Db, query: BreakdownQuery): Promise<BreakdownSum[]> {
  const { start, end } = inQuarters(query.range)
  const value = sql.ref(query.by === 'domain' ? 'm.domain_id' : 'm.provider')
  const { rows } = await sql<BreakdownSum>`
    with sums as (
      select ${value} as value, m.counter, sum(m.n) as n from metrics m
      where m.team_id = ${query.teamId} and m.at >= ${start} and m.at < ${end}
        and m.counter in (${sql.join(query.counters)}) ${onlyOf(query)}
      group by ${value}, m.counter
    ),
    largest as (select value from sums group by value order by sum(n) desc, value limit ${query.most}),
    told as (
      select case when value in (select value from largest) then value end as value, counter, n from sums
    )
    select value, counter, sum(n) as n from told group by value, counter
  `.execute(db)
  return rows.map(({ value: told, counter, n }) => ({ value: told, counter, n: Number(n) }))
}

/** See `MetricsStorage.sumEmailMetrics`. */
export async function sumEmailMetrics(
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
          ...{ start: range.start, emailId: row.email_id!, domainId: row.domain_id, counter, n: row.amount },
        })
    }
  }
  return [...sums.values()]
}

/** See `MetricsStorage.metricsSpans`. */
export async function metricsSpans(db: Db): Promise<MetricsSpan[]> {
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

/** See `MetricsStorage.recomputeMetrics`. */
export async function recomputeMetrics(
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
      .onConflict((conflict) => conflict.doUpdateSet({ n: row.n }))
      .execute()
  return { changed: wrong.length + missing.length, left: leave.size }
}

const byKey = (rows: Row[]) => new Map(rows.map((row) => [keyOf(row), row]))

/** The roll-ups as the events say that they are. */
async function counted(db: Db, teamId: string, start: number, end: number): Promise<Row[]> {
  const sums = new Map<string, Row>()
  for (let at = start; at < end; at += QUARTER) {
    const events = await db
      .selectFrom('events')
      .select(['domain_id', 'provider', 'counted'])
      .select((select) => select.fn.sum<number>('amount').as('n'))
      .where('team_id', '=', teamId)
      .where('created_at', '>=', at)
      .where('created_at', '<', at + QUARTER)
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

/** See `MetricsStorage.liveEvents`. */
export async function liveEvents(
  db: Db,
  { teamId, after, limit }: { teamId?: string | undefined; after: number; limit: number },
): Promise<LiveEvent[]> {
  let query = db
    .selectFrom('events')
    .select(['seq', 'team_id', 'email_id', 'type', 'created_at'])
    .where('seq', '>', after)
  if (teamId !== undefined) query = query.where('team_id', '=', teamId)
  const rows = await query.orderBy('seq').limit(limit).execute()
  return rows.map((row) => ({
    seq: row.seq,
    teamId: row.team_id,
    emailId: row.email_id,
    type: row.type,
    createdAt: row.created_at,
  }))
}

/** See `MetricsStorage.lastEvent`. */
export async function lastEvent(db: Db): Promise<number> {
  const row = await db
    .selectFrom('events')
    .select((select) => select.fn.max('seq').as('seq'))
    .executeTakeFirst()
  return row?.seq ?? 0
}
