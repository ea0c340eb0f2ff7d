/** Reads the queue for operators, and changes many deliveries at once. */
import { sql, type UpdateObject } from 'kysely'
import { type Stream, AGE_BANDS, type PoolFilter, type QueueAction } from '../../mail/queue.ts'
import { type Delivery, selectDeliveries, toDelivery } from '../deliveries.ts'
import type { Db, Tables } from '../schema.ts'
import {
  findNextMatchingRange,
  findNextRange,
  type QueueFilter,
  type Step,
  type StepArgs,
  isUnleased,
  waitingState,
  isInRange,
} from './matching.ts'
import { toHoldRule } from './hold-rules.ts'
import { isPostgres } from '../connection.ts'

/** The number of similar deliveries, with a sample. */
export interface DeliveryGroup {
  teamId: string
  pool: string
  provider: string
  domain: string
  /** Each delivery is in one state: in flight, otherwise held, otherwise waiting. */
  state: 'waiting' | 'held' | 'in_flight'
  /** Number of deliveries that were attempted. */
  attempted: number
  /** Number of deliveries that are due later, and when the first of them is due; null if there is none. */
  later: number
  nextAt: number | null
  /** ID of the oldest delivery, preferably one that was attempted and is waiting. */
  sampleId: string
  /** Index in `AGE_BANDS` of the first age that the deliveries haven't reached; its length if they reached all. */
  band: number
  count: number
  oldestAt: number
  newestAt: number
  /** When the oldest delivery that was attempted or is due was created; null if all are scheduled for later. */
  oldestBegunAt: number | null
}

/** The deliveries to change, and the audit entry that records the change. */
export type QueueChangeArgs = QueueFilter & StepArgs & { by?: string | undefined }

/**
 * Number of rows to examine one by one. If all of them belong to closed destinations, the queues are searched instead.
 */
export const HEAD_ROWS = 200

/**
 * Maximum number of queues to search, at about 4 microseconds each. If it is exceeded, the caller must check again soon.
 */
const MOST_QUEUES = 4000

const SOON = 100

/** Selects the first deliveries of a stream by due time. */
export function selectHead(db: Db, stream: Stream, most: number, now: number) {
  return db
    .selectFrom('deliveries')
    .select(['queue', 'due_at'])
    .$narrowType<{ queue: string; due_at: number }>()
    .where('state', '=', waitingState)
    .where('stream', '=', stream)
    .where((where) => isUnleased(where, now))
    .orderBy('due_at')
    .limit(most)
    .execute()
}

/** Returns the condition for pools that a filter doesn't include. */
const isLeftOut = ({ pools, only }: PoolFilter) => sql`${only ? sql`not in` : sql`in`} (${sql.join(pools)})`

/** Returns when the first delivery is due in the queues of some pools, except those of closed destinations. */
export async function findFirstDueTime(
  db: Db,
  { closed, pools }: { closed: Set<string>; pools: PoolFilter | undefined },
  now: number,
): Promise<number | undefined> {
  // The character after the slash in sort order ends the range of a destination's queues.
  const queues = await sql<{ due_at: number | null; asked: number }>`
    with recursive closed (destination) as (values ${sql.join(['', ...closed].map((one) => sql`(${one})`))}),
    queues (queue, destination, pool) as (
      select queue, pool || '/' || provider, pool from (
        select queue, pool, provider from deliveries where state = 'waiting' and queue > '' order by queue limit 1) as first
      union all
      select d.queue, d.pool || '/' || d.provider, d.pool
      from queues join deliveries d on d.rowid = (
        select rowid from deliveries where state = 'waiting' and queue > case
          ${pools ? sql`when queues.pool ${isLeftOut(pools)} then queues.pool || '0'` : sql``}
          when queues.destination in (select destination from closed) then queues.destination || '0'
          else queues.queue end
        order by queue limit 1)
      ${isPostgres(db) ? sql`` : sql`limit ${MOST_QUEUES}`}
    )
    select count(*) as asked, min(case when destination not in (select destination from closed)
      ${pools ? sql`and not (pool ${isLeftOut(pools)})` : sql``} then (
      select d.due_at from deliveries d
      where d.state = 'waiting' and d.queue = queues.queue and (d.lease_until is null or d.lease_until <= ${now})
      order by d.due_at limit 1
    ) end) as due_at
    from (select * from queues limit ${MOST_QUEUES}) as queues
  `.execute(db)
  const [found] = queues.rows
  if (found?.asked === MOST_QUEUES) return Math.min(found.due_at ?? Infinity, now + SOON)
  return found?.due_at ?? undefined
}

/** Returns the expression for the state of a delivery. */
const stateOf = (now: number) =>
  sql<DeliveryGroup['state']>`case when lease_until is not null and lease_until > ${now} then 'in_flight'
    else state end`

/** Returns the expression for the index of the first age that a delivery hasn't reached. */
const bandOf = (now: number) =>
  sql<number>`case ${sql.join(
    AGE_BANDS.map((age, band) => sql`when created_at > ${now - age} then ${sql.lit(band)}`),
    sql` `,
  )} else ${sql.lit(AGE_BANDS.length)} end`

/** Counts deliveries that match a filter, in steps. The sum of all steps is not a snapshot. */
async function surveyQueue(
  db: Db,
  args: QueueFilter & StepArgs,
  now: number,
): Promise<{ groups: DeliveryGroup[]; next: string | null }> {
  const portion = await findNextMatchingRange(db, args, args, now)
  if (!portion) return { groups: [], next: null }
  const rows = await db
    .selectFrom('deliveries')
    .select(['team_id', 'pool', 'provider', 'domain', stateOf(now).as('state'), bandOf(now).as('band')])
    .$narrowType<{ domain: string }>()
    .select((row) => [
      row.fn.countAll<number>().as('count'),
      row.fn.min('created_at').as('oldest_at'),
      row.fn.max('created_at').as('newest_at'),
      sql<number | null>`min(case when attempts > 0 or due_at <= ${now} then created_at end)`.as(
        'oldest_begun_at',
      ),
      sql<number>`sum(case when attempts > 0 then 1 else 0 end)`.as('attempted'),
      sql<number>`sum(case when due_at > ${now} then 1 else 0 end)`.as('later'),
      sql<number | null>`min(case when due_at > ${now} then due_at end)`.as('next_at'),
      sql<string>`coalesce(min(case when attempts > 0 and due_at > ${now} then id end), min(id))`.as(
        'sample_id',
      ),
    ])
    .where(portion.where)
    .groupBy([sql.lit(1), sql.lit(2), sql.lit(3), sql.lit(4), sql.lit(5), sql.lit(6)])
    .execute()
  const groups = rows.map(
    ({
      team_id,
      oldest_at,
      newest_at,
      oldest_begun_at,
      next_at,
      sample_id,
      attempted,
      later,
      count,
      ...row
    }) => ({
      teamId: team_id,
      ...row,
      count: Number(count),
      attempted: Number(attempted),
      later: Number(later),
      nextAt: next_at === null ? null : Number(next_at),
      sampleId: sample_id,
      oldestAt: Number(oldest_at),
      newestAt: Number(newest_at),
      oldestBegunAt: oldest_begun_at === null ? null : Number(oldest_begun_at),
    }),
  )
  return { groups, next: portion.next }
}

/** Number of deliveries that one step of a list examines. */
const LOOK = 5000

/** Lists at most `limit` deliveries, oldest first. `next` is where to continue, even if a step found fewer than `limit`. */
async function listQueue(
  db: Db,
  { limit, after, ...filter }: QueueFilter & { limit: number; after?: string | undefined },
  now: number,
): Promise<{ items: Delivery[]; next: string | null }> {
  const portion = await findNextMatchingRange(db, filter, { limit: LOOK, after }, now)
  if (!portion) return { items: [], next: null }
  const wanted = db
    .selectFrom('deliveries')
    .select(['email_id', 'id'])
    .where(portion.where)
    .orderBy('id')
    .limit(limit)
  const rows = await selectDeliveries(db)
    .where((where) => where(where.refTuple('d.email_id', 'd.id'), 'in', wanted.$asTuple('email_id', 'id')))
    .orderBy('d.id')
    .execute()
  return { items: rows.map(toDelivery), next: rows.length === limit ? rows.at(-1)!.id : portion.next }
}

/** Applies an action to the next deliveries that match. */
async function changeStep(
  db: Db,
  action: QueueAction,
  args: QueueFilter & StepArgs,
  set: UpdateObject<Tables, 'deliveries'>,
  now: number,
): Promise<Step> {
  const filter = { ...args, touch: args.touch ?? { action } }
  const portion = await findNextMatchingRange(db, filter, args, now)
  if (!portion) return { count: 0, next: null }
  const updated = await db.updateTable('deliveries').set(set).where(portion.where).executeTakeFirstOrThrow()
  return { count: Number(updated.numUpdatedRows), next: portion.next }
}

/**
 * Holds deliveries: there are no further attempts until they are released. Deliveries in flight finish. Here and below,
 * `by` is the audit entry.
 */
export async function holdQueue(db: Db, { by, ...args }: QueueChangeArgs, now: number): Promise<Step> {
  return changeStep(db, 'hold', args, { state: 'held', touched_by: by ?? null }, now)
}

export async function releaseQueue(db: Db, { by, ...args }: QueueChangeArgs, now: number): Promise<Step> {
  return changeStep(db, 'release', args, { state: 'waiting', touched_by: by ?? null }, now)
}

/** Makes waiting deliveries due now. */
export async function retryQueue(db: Db, args: QueueFilter & StepArgs, now: number): Promise<Step> {
  return changeStep(db, 'retry', args, { due_at: now }, now)
}

/**
 * Reroutes deliveries to another pool; null reroutes them back to the pool before their last reroute.
 * @param keepHolder whether held deliveries still belong to the change that held them, so that its end releases them
 */
async function rerouteQueue(
  db: Db,
  { by, to, keepHolder = false, ...args }: QueueChangeArgs & { to: string | null; keepHolder?: boolean },
  now: number,
): Promise<Step> {
  const pool = to === null ? sql<string>`coalesce(pool_before, pool)` : sql<string>`${to}`
  const set = {
    pool,
    pool_before: sql<string>`pool`,
    // In the format of `formatQueueName`.
    queue: sql<string>`${pool} || '/' || provider || case stream when 'broadcast' then '/b/' else '/t/' end || team_id`,
    touched_by: keepHolder
      ? sql<string | null>`case state when 'held' then touched_by else ${by ?? null} end`
      : (by ?? null),
  }
  return changeStep(db, 'reroute', { ...args, touch: { action: 'reroute', pool: to ?? undefined } }, set, now)
}

/**
 * Stores the provider of a domain for future emails, and moves queued deliveries of the domain to its queue, in steps:
 * repeat with `after` until `next` is null. Leases don't change. If the steps are interrupted, nothing is lost: the
 * remaining deliveries stay in their old queue. Doesn't write deliveries that are already in the right queue.
 */
export async function place(
  db: Db,
  { domain, provider, ...step }: { domain: string; provider: string } & StepArgs,
  now: number,
): Promise<Step> {
  if (step.after === undefined) await remember(db, { domain, provider }, now)
  const range = await findNextRange(db, { domain }, step)
  if (!range) return { count: 0, next: null }
  const moved = await db
    .updateTable('deliveries')
    .set({
      provider,
      // In the format of `formatQueueName`.
      queue: sql<string>`pool || '/' || ${provider} || case stream when 'broadcast' then '/b/' else '/t/' end || team_id`,
    })
    .where('domain', '=', domain)
    .where('provider', '!=', provider)
    .where((where) => isInRange(where, range))
    .executeTakeFirstOrThrow()
  await heedRules(db, { domain, provider, ...step }, now)
  return { count: Number(moved.numUpdatedRows), next: range.next }
}

/** Holds deliveries that match a rule, now that their provider is known. */
async function heedRules(
  db: Db,
  { domain, provider, ...step }: { domain: string; provider: string } & StepArgs,
  now: number,
): Promise<void> {
  const rules = await db.selectFrom('hold_rules').selectAll().where('provider', '=', provider).execute()
  for (const rule of rules.map(toHoldRule)) {
    if (rule.domain !== null && rule.domain !== domain) continue
    const filter = { domain, provider, teamId: rule.teamId ?? undefined, tag: rule.tag ?? undefined }
    await holdQueue(db, { ...filter, ...step, by: rule.id }, now)
  }
}

async function remember(
  db: Db,
  { domain, provider }: { domain: string; provider: string },
  now: number,
): Promise<void> {
  const changing = { provider, placed_at: now }
  await db
    .insertInto('destinations')
    .values({ domain, ...changing })
    .onConflict((conflict) => conflict.column('domain').doUpdateSet(changing))
    .execute()
}

export const methods = {
  reads: { surveyQueue, listQueue },
  writes: { holdQueue, releaseQueue, retryQueue, rerouteQueue, place },
}
