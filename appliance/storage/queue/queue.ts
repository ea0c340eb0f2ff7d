/** What operators see of the queue, and what they do to many deliveries at once. */
import { sql, type UpdateObject } from 'kysely'
import { type Stream, AGE_BANDS, type QueueAction } from '../../mail/queue.ts'
import { type Delivery, selectDeliveries, toDelivery } from '../deliveries.ts'
import type { Db, Tables } from '../schema.ts'
import {
  nextPortion,
  nextRange,
  type QueueFilter,
  type Step,
  type StepArgs,
  unleased,
  waiting,
  within,
} from './matching.ts'
import { toHoldRule } from './hold-rules.ts'
import { isPostgres } from '../connection.ts'

/** Deliveries of one kind, counted. */
export interface SurveyGroup {
  teamId: string
  pool: string
  provider: string
  domain: string
  /** Each delivery is one of the three: in flight, else held, else waiting. */
  state: 'waiting' | 'held' | 'in_flight'
  /** How many of them are due later, and when the first of these is; null: none. */
  later: number
  nextAt: number | null
  /** The oldest of them, of those that were attempted and wait where there are any. */
  sampleId: string
  /** How many of `AGE_BANDS` it has reached. */
  band: number
  count: number
  oldestAt: number
  newestAt: number
  /** The oldest that was tried or is due; null where all wait for the time that their sender wanted. */
  oldestBegunAt: number | null
}

/** What a change is about, and the audit entry that it is written down in. */
export type QueueChangeArgs = QueueFilter & StepArgs & { by?: string | undefined }

/** So many of the next rows are looked at one by one before the queues are asked instead. */
export const HEAD = 200

/** Queues that are asked at most, some 4 microseconds each. Where there are more, the caller is told to look again soon. */
const MOST_QUEUES = 4000

const SOON = 100

/** The first of a stream by their due times. */
export function headOf(db: Db, stream: Stream, most: number, now: number) {
  return db
    .selectFrom('deliveries')
    .select(['queue', 'due_at'])
    .$narrowType<{ queue: string; due_at: number }>()
    .where('state', '=', waiting)
    .where('stream', '=', stream)
    .where((where) => unleased(where, now))
    .orderBy('due_at')
    .limit(most)
    .execute()
}

/** Asks each queue that is not of a closed destination. */
export async function firstOpen(db: Db, closed: Set<string>, now: number): Promise<number | undefined> {
  // The character after the slash ends the range of a destination's queues.
  const queues = await sql<{ due_at: number | null; asked: number }>`
    with recursive closed (destination) as (values ${sql.join([...closed].map((one) => sql`(${one})`))}),
    queues (queue, destination) as (
      select queue, pool || '/' || provider from (
        select queue, pool, provider from deliveries where state = 'waiting' and queue > '' order by queue limit 1) as first
      union all
      select d.queue, d.pool || '/' || d.provider
      from queues join deliveries d on d.rowid = (
        select rowid from deliveries where state = 'waiting' and queue > case
          when queues.destination in (select destination from closed) then queues.destination || '0'
          else queues.queue end
        order by queue limit 1)
      ${isPostgres(db) ? sql`` : sql`limit ${MOST_QUEUES}`}
    )
    select count(*) as asked, min(case when destination not in (select destination from closed) then (
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

/** What a delivery counts as, each as one of the three. */
const stateOf = (now: number) =>
  sql<SurveyGroup['state']>`case when lease_until is not null and lease_until > ${now} then 'in_flight'
    else state end`

/** The index of the first age that a delivery has not reached. */
const bandOf = (now: number) =>
  sql<number>`case ${sql.join(
    AGE_BANDS.map((age, band) => sql`when created_at > ${now - age} then ${sql.lit(band)}`),
    sql` `,
  )} else ${sql.lit(AGE_BANDS.length)} end`

/** Counts what a filter names, in steps. The sum of all steps is of no single instant. */
async function surveyQueue(
  db: Db,
  args: QueueFilter & StepArgs,
  now: number,
): Promise<{ groups: SurveyGroup[]; next: string | null }> {
  const portion = await nextPortion(db, args, args, now)
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
    ({ team_id, oldest_at, newest_at, oldest_begun_at, next_at, sample_id, later, count, ...row }) => ({
      teamId: team_id,
      ...row,
      count: Number(count),
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

/** Deliveries that one step of a list looks at. */
const LOOK = 5000

/** At most `limit` deliveries, oldest first; `next` is where to go on looking, even when a step found fewer. */
async function listQueue(
  db: Db,
  { limit, after, ...filter }: QueueFilter & { limit: number; after?: string | undefined },
  now: number,
): Promise<{ items: Delivery[]; next: string | null }> {
  const portion = await nextPortion(db, filter, { limit: LOOK, after }, now)
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

/** Changes what an action touches of the next deliveries. */
async function changeStep(
  db: Db,
  action: QueueAction,
  args: QueueFilter & StepArgs,
  set: UpdateObject<Tables, 'deliveries'>,
  now: number,
): Promise<Step> {
  const filter = { ...args, touch: args.touch ?? { action } }
  const portion = await nextPortion(db, filter, args, now)
  if (!portion) return { count: 0, next: null }
  const updated = await db.updateTable('deliveries').set(set).where(portion.where).executeTakeFirstOrThrow()
  return { count: Number(updated.numUpdatedRows), next: portion.next }
}

/** Stops further attempts until released; those in flight finish. `by`, here and below: the audit entry. */
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

/** Lets the next attempt leave from another pool; null: from the one before the last re-route. */
async function rerouteQueue(
  db: Db,
  { by, to, ...args }: QueueChangeArgs & { to: string | null },
  now: number,
): Promise<Step> {
  const pool = to === null ? sql<string>`coalesce(pool_before, pool)` : sql<string>`${to}`
  const set = {
    pool,
    pool_before: sql<string>`pool`,
    // As `formatQueue` writes it.
    queue: sql<string>`${pool} || '/' || provider || case stream when 'broadcast' then '/b/' else '/t/' end || team_id`,
    touched_by: by ?? null,
  }
  return changeStep(db, 'reroute', { ...args, touch: { action: 'reroute', pool: to ?? undefined } }, set, now)
}

/**
 * Remembers the provider of a domain for the emails to come, and moves what waits for the domain to its queue, in steps:
 * repeat with `after` until `next` is null. Leases stay as they are. When the steps are not ended, nothing is lost: what
 * was not moved goes on waiting where it is.
 * What is in the right queue already is looked at and not written.
 */
export async function place(
  db: Db,
  { domain, provider, ...step }: { domain: string; provider: string } & StepArgs,
  now: number,
): Promise<Step> {
  if (step.after === undefined) await remember(db, { domain, provider }, now)
  const range = await nextRange(db, { domain }, step)
  if (!range) return { count: 0, next: null }
  const moved = await db
    .updateTable('deliveries')
    .set({
      provider,
      // As `formatQueue` writes it.
      queue: sql<string>`pool || '/' || ${provider} || case stream when 'broadcast' then '/b/' else '/t/' end || team_id`,
    })
    .where('domain', '=', domain)
    .where('provider', '!=', provider)
    .where((where) => within(where, range))
    .executeTakeFirstOrThrow()
  await heedRules(db, { domain, provider, ...step }, now)
  return { count: Number(moved.numUpdatedRows), next: range.next }
}

/** What could not be held when it came, since nobody knew its provider, is held now. */
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

/** The methods of this noun (nouns.ts). */
export const methods = {
  reads: { surveyQueue, listQueue },
  writes: { holdQueue, releaseQueue, retryQueue, rerouteQueue, place },
}
