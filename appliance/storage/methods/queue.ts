import { sql, type Kysely, type UpdateObject } from 'kysely'
import { destinationOfQueue } from '../../mail/queue.ts'
import { AGE_BANDS, type QueueAction } from '../../mail/queue-action.ts'
import { STREAMS, type Stream } from '../../mail/source.ts'
import type { Cause } from '../../mail/verdict.ts'
import type { Tables } from '../schema.ts'
import type { Delivery, QueueChangeArgs, QueueFilter, Step, StepArgs, SurveyGroup } from '../storage.ts'
import { notHeld, unleased } from './matching.ts'
import { selectDeliveries, toDelivery } from './recipients.ts'
import { nextPortion } from './steps.ts'

type Db = Kysely<Tables>

/** See `Storage.unlease`. What `lease` recorded of the email stays: it was tried, or was about to be. */
export async function unlease(
  db: Db,
  args: { owner: string; deliveryIds: string[]; dueAt?: number | undefined },
  now: number,
): Promise<void> {
  for (const id of args.deliveryIds) {
    await db
      .updateTable('deliveries')
      .set((set) => ({
        lease_owner: null,
        lease_until: null,
        due_at: args.dueAt ?? now,
        attempts: set('attempts', '-', 1),
      }))
      .where('id', '=', id)
      .where('lease_owner', '=', args.owner)
      .execute()
  }
}

/** See `Storage.voidLeases`. */
export async function voidLeases(
  db: Db,
  { owner, cause, firstDueAt }: { owner: string; cause: Cause; firstDueAt: number },
): Promise<number> {
  const leased = db.selectFrom('deliveries').select('id').where('lease_owner', '!=', owner)
  await db
    .updateTable('recipients')
    .set({ cause: JSON.stringify(cause) })
    .where('id', 'in', leased)
    .execute()
  await db
    .updateTable('deliveries')
    .set({ due_at: firstDueAt })
    .where('lease_owner', '!=', owner)
    .where('attempts', '=', 1)
    .where('due_at', '>', firstDueAt)
    .execute()
  const updated = await db
    .updateTable('deliveries')
    .set({ lease_owner: null, lease_until: null })
    .where('lease_owner', '!=', owner)
    .executeTakeFirstOrThrow()
  return Number(updated.numUpdatedRows)
}

/** So many of the next rows are looked at one by one before the queues are asked instead. */
const HEAD = 200

/** Queues that are asked at most, some 4 microseconds each. Where there are more, the caller is told to look again soon. */
const MOST_QUEUES = 4000
const SOON = 100

/**
 * See `Storage.nextDue`. Usually one of the first rows answers. Where closed destinations fill the head of the queue,
 * each queue of the others is asked for its first row: a step through the index for each queue, and one for each closed
 * destination, whatever waits in them.
 */
export async function nextDue(db: Db, args: { closed: string[] }, now: number): Promise<number | undefined> {
  const closed = new Set(args.closed)
  const most = closed.size === 0 ? 1 : HEAD
  let next: number | undefined
  let hidden = false
  for (const stream of STREAMS) {
    const head = await headOf(db, stream, most, now)
    const open = head.find((row) => !closed.has(destinationOfQueue(row.queue)))
    if (open) next = Math.min(next ?? Infinity, open.due_at)
    else if (closed.size > 0 && head.length === most) hidden = true
  }
  if (!hidden) return next
  const behind = await firstOpen(db, closed, now)
  return next === undefined ? behind : Math.min(next, behind ?? Infinity)
}

/** The first of a stream by their due times. */
function headOf(db: Db, stream: Stream, most: number, now: number) {
  return db
    .selectFrom('deliveries')
    .select(['queue', 'due_at'])
    .where('held', '=', notHeld)
    .where('stream', '=', stream)
    .where((where) => unleased(where, now))
    .orderBy('due_at')
    .limit(most)
    .execute()
}

/** Asks each queue that is not of a closed destination. */
async function firstOpen(db: Db, closed: Set<string>, now: number): Promise<number | undefined> {
  // The character after the slash ends the range of a destination's queues.
  const queues = await sql<{ due_at: number | null; asked: number }>`
    with recursive closed (destination) as (values ${sql.join([...closed].map((one) => sql`(${one})`))}),
    queues (queue, destination) as (
      select queue, pool || '/' || provider from (
        select queue, pool, provider from deliveries where held = 0 and queue > '' order by queue limit 1) as first
      union all
      select d.queue, d.pool || '/' || d.provider
      from queues join deliveries d on d.id = (
        select id from deliveries where held = 0 and queue > case
          when queues.destination in (select destination from closed) then queues.destination || '0'
          else queues.queue end
        order by queue limit 1)
      limit ${MOST_QUEUES}
    )
    select count(*) as asked, min(case when destination not in (select destination from closed) then (
      select d.due_at from deliveries d
      where d.held = 0 and d.queue = queues.queue and (d.lease_until is null or d.lease_until <= ${now})
      order by d.due_at limit 1
    ) end) as due_at
    from queues
  `.execute(db)
  const [found] = queues.rows
  if (found?.asked === MOST_QUEUES) return Math.min(found.due_at ?? Infinity, now + SOON)
  return found?.due_at ?? undefined
}

/** What a delivery counts as, each as one of the three. */
const stateOf = (now: number) =>
  sql<SurveyGroup['state']>`case when lease_until is not null and lease_until > ${now} then 'in_flight'
    when held = 1 then 'held' else 'waiting' end`

/** The index of the first age that a delivery has not reached. */
const bandOf = (now: number) =>
  sql<number>`case ${sql.join(
    AGE_BANDS.map((age, band) => sql`when created_at > ${now - age} then ${sql.lit(band)}`),
    sql` `,
  )} else ${sql.lit(AGE_BANDS.length)} end`

/** See `Storage.surveyQueue`. */
export async function surveyQueue(
  db: Db,
  args: QueueFilter & StepArgs,
  now: number,
): Promise<{ groups: SurveyGroup[]; next: string | null }> {
  const portion = await nextPortion(db, args, args, now)
  if (!portion) return { groups: [], next: null }
  const rows = await db
    .selectFrom('deliveries')
    .select(['team_id', 'pool', 'provider', 'domain', stateOf(now).as('state'), bandOf(now).as('band')])
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

/** See `Storage.listQueue`. */
export async function listQueue(
  db: Db,
  { limit, after, ...filter }: QueueFilter & { limit: number; after?: string | undefined },
  now: number,
): Promise<{ items: Delivery[]; next: string | null }> {
  const portion = await nextPortion(db, filter, { limit: LOOK, after }, now)
  if (!portion) return { items: [], next: null }
  const wanted = db.selectFrom('deliveries').select('id').where(portion.where).orderBy('id').limit(limit)
  const rows = await selectDeliveries(db).where('r.id', 'in', wanted).orderBy('r.id').execute()
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

/** See `Storage.holdQueue`. */
export async function holdQueue(db: Db, { by, ...args }: QueueChangeArgs, now: number): Promise<Step> {
  return changeStep(db, 'hold', args, { held: 1, touched_by: by ?? null }, now)
}

/** See `Storage.releaseQueue`. */
export async function releaseQueue(db: Db, { by, ...args }: QueueChangeArgs, now: number): Promise<Step> {
  return changeStep(db, 'release', args, { held: 0, touched_by: by ?? null }, now)
}

/** See `Storage.retryQueue`. */
export async function retryQueue(db: Db, args: QueueFilter & StepArgs, now: number): Promise<Step> {
  return changeStep(db, 'retry', args, { due_at: now }, now)
}

/** See `Storage.rerouteQueue`. */
export async function rerouteQueue(
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
