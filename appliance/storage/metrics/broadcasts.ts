/** Metrics of broadcasts: roll-ups of the events of their emails, which are written together with the events. */
import { sql } from 'kysely'
import { buildValues } from '../lists.ts'
import type { Db, MetricsBroadcastsTable } from '../schema.ts'
import { type MetricsQuery, QUARTER_HOUR_MS, startOfQuarterHour } from './counters.ts'

/** The sum of a counter for one broadcast in one of the ranges. */
export interface BroadcastMetricsSum {
  /** Start of the range. */
  start: number
  broadcastId: string
  domainId: string
  counter: string
  n: number
}

/** Number of ranges per statement. Each takes three parameters, and the engine allows 32,766. */
const ROUND = 2000

/** Sums the roll-ups of these broadcasts, or of all. */
async function sumBroadcastMetrics(
  db: Db,
  { teamId, domainIds, broadcastIds, ranges }: MetricsQuery & { broadcastIds?: string[] | undefined },
): Promise<BroadcastMetricsSum[]> {
  const domains = domainIds ? sql`and m.domain_id in (${sql.join(domainIds)})` : sql``
  const broadcasts = broadcastIds ? sql`and m.broadcast_id in (${sql.join(broadcastIds)})` : sql``
  const sums: BroadcastMetricsSum[] = []
  for (let at = 0; at < ranges.length; at += ROUND) {
    const whole = ranges
      .slice(at, at + ROUND)
      .map(({ start, end }) => [
        start,
        startOfQuarterHour(start),
        startOfQuarterHour(end - 1) + QUARTER_HOUR_MS,
      ])
    const { rows } = await sql<BroadcastMetricsSum>`
      with ranges (start, at, until) as ${buildValues(['bigint', 'bigint', 'bigint'], whole)}
      select ranges.start as start, m.broadcast_id as "broadcastId", m.domain_id as "domainId", m.counter as counter, sum(m.n) as n
      from ranges cross join metrics_broadcasts m
      where m.team_id = ${teamId} and m.at >= ranges.at and m.at < ranges.until ${domains} ${broadcasts}
      group by ranges.start, m.broadcast_id, m.domain_id, m.counter
    `.execute(db)
    for (const row of rows) sums.push({ ...row, start: Number(row.start), n: Number(row.n) })
  }
  return sums
}

type Row = MetricsBroadcastsTable

const keyOf = ({ at, broadcast_id, domain_id, counter }: Row) =>
  `${at} ${broadcast_id} ${domain_id} ${counter}`

/**
 * Recomputes the roll-ups of broadcasts from the events, for whole quarter hours from `start` (inclusive) to `end`
 * (exclusive). Returns the number of corrected counts.
 * @param leave quarter hours to leave unchanged
 */
export async function recountBroadcasts(
  db: Db,
  teamId: string,
  { start, end }: { start: number; end: number },
  leave: ReadonlySet<number>,
): Promise<number> {
  const stored = await db
    .selectFrom('metrics_broadcasts')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('at', '>=', start)
    .where('at', '<', end)
    .execute()
  const is = new Map(stored.filter(({ at }) => !leave.has(at)).map((row) => [keyOf(row), row]))
  const should = await counted(db, teamId, { start, end }, leave)
  const wrong = [...is.values()].filter((row) => !should.has(keyOf(row)))
  const missing = [...should.values()].filter((row) => is.get(keyOf(row))?.n !== row.n)
  for (const { at, broadcast_id, domain_id, counter } of wrong)
    await db
      .deleteFrom('metrics_broadcasts')
      .where('team_id', '=', teamId)
      .where('at', '=', at)
      .where('broadcast_id', '=', broadcast_id)
      .where('domain_id', '=', domain_id)
      .where('counter', '=', counter)
      .execute()
  for (const row of missing)
    await db
      .insertInto('metrics_broadcasts')
      .values(row)
      .onConflict((conflict) =>
        conflict.columns(['team_id', 'at', 'broadcast_id', 'domain_id', 'counter']).doUpdateSet({ n: row.n }),
      )
      .execute()
  return wrong.length + missing.length
}

/** Computes the roll-ups from the events. */
async function counted(
  db: Db,
  teamId: string,
  { start, end }: { start: number; end: number },
  leave: ReadonlySet<number>,
): Promise<Map<string, Row>> {
  const sums = new Map<string, Row>()
  for (let at = start; at < end; at += QUARTER_HOUR_MS) {
    if (leave.has(at)) continue
    const events = await db
      .selectFrom('events as v')
      .innerJoin('emails as e', 'e.id', 'v.email_id')
      .select(['v.domain_id', 'e.broadcast_id', 'v.counted'])
      .select((select) => select.fn.sum<number>('v.amount').as('n'))
      .where('v.team_id', '=', teamId)
      .where('v.created_at', '>=', at)
      .where('v.created_at', '<', at + QUARTER_HOUR_MS)
      .where('v.counted', '!=', '')
      .where('e.broadcast_id', 'is not', null)
      .groupBy(['v.domain_id', 'e.broadcast_id', 'v.counted'])
      .execute()
    for (const { domain_id, broadcast_id, counted: counters, n } of events)
      for (const counter of counters.split(' ')) {
        const row = { team_id: teamId, at, broadcast_id: broadcast_id!, domain_id, counter, n: Number(n) }
        const known = sums.get(keyOf(row))
        if (known) known.n += row.n
        else sums.set(keyOf(row), row)
      }
  }
  return sums
}

/** Returns the names of broadcasts that still exist. */
async function broadcastNames(
  db: Db,
  { teamId, ids }: { teamId: string; ids: readonly string[] },
): Promise<{ id: string; name: string }[]> {
  if (ids.length === 0) return []
  return db
    .selectFrom('broadcasts')
    .select(['id', 'name'])
    .where('team_id', '=', teamId)
    .where('id', 'in', ids)
    .execute()
}

/** Numbers of running and scheduled broadcasts of all teams. */
export interface OpenBroadcastCounts {
  scheduled: number
  sending: number
  paused: number
}

async function countOpenBroadcasts(db: Db): Promise<OpenBroadcastCounts> {
  const rows = await db
    .selectFrom('broadcasts')
    .select((row) => [
      'status',
      row.fn.countAll<number>().as('n'),
      row.fn.count<number>('paused_at').as('held'),
    ])
    .where('status', 'in', ['scheduled', 'queued'])
    .groupBy('status')
    .execute()
  const of = (status: string) => {
    const row = rows.find((one) => one.status === status)
    return { all: Number(row?.n ?? 0), held: Number(row?.held ?? 0) }
  }
  const [scheduled, queued] = [of('scheduled'), of('queued')]
  return {
    scheduled: scheduled.all - scheduled.held,
    sending: queued.all - queued.held,
    paused: scheduled.held + queued.held,
  }
}

export const methods = { reads: { sumBroadcastMetrics, broadcastNames, countOpenBroadcasts } }
