import { sql, type Expression, type ExpressionBuilder, type Kysely, type SqlBool } from 'kysely'
import type { Tables } from '../schema.ts'
import type { Delivery, QueueFilter, QueueSummary } from '../storage.ts'
import { selectDeliveries, toDelivery } from './recipients.ts'

type Db = Kysely<Tables>
type Where = ExpressionBuilder<Tables, 'deliveries'>

/** Written out, not bound: the planners use the partial indexes only for a condition that they can read. */
const notHeld = sql.lit(0)

/** The lease is free: never taken, given back, or run out. */
export const unleased = (where: Where, now: number): Expression<SqlBool> =>
  where.or([where('lease_until', 'is', null), where('lease_until', '<=', now)])

/** The conditions of a filter, over `deliveries`. */
export function matching(where: Where, filter: QueueFilter): Expression<SqlBool> {
  const { teamId, deliveryId, emailId, domain, state } = filter
  const conditions: Expression<SqlBool>[] = []
  if (teamId !== undefined) conditions.push(where('team_id', '=', teamId))
  if (deliveryId !== undefined) conditions.push(where('id', '=', deliveryId))
  if (emailId !== undefined) conditions.push(where('email_id', '=', emailId))
  if (domain !== undefined) conditions.push(where('domain', '=', domain.toLowerCase()))
  if (state !== undefined) conditions.push(where('held', '=', state === 'held' ? 1 : 0))
  return where.and(conditions)
}

/** See `Storage.unlease`. What `lease` recorded of the email stays: it was tried, or was about to be. */
export async function unlease(
  db: Db,
  args: { owner: string; deliveryIds: string[] },
  now: number,
): Promise<void> {
  for (const id of args.deliveryIds) {
    await db
      .updateTable('deliveries')
      .set((set) => ({
        lease_owner: null,
        lease_until: null,
        due_at: now,
        attempts: set('attempts', '-', 1),
      }))
      .where('id', '=', id)
      .where('lease_owner', '=', args.owner)
      .execute()
  }
}

/** See `Storage.voidLeases`. */
export async function voidLeases(db: Db, args: { owner: string }): Promise<number> {
  const updated = await db
    .updateTable('deliveries')
    .set({ lease_owner: null, lease_until: null })
    .where('lease_owner', '!=', args.owner)
    .executeTakeFirstOrThrow()
  return Number(updated.numUpdatedRows)
}

/** So many of the next rows are looked at one by one before the lanes are asked instead. */
const HEAD = 200

/**
 * See `Storage.nextDue`. Usually one of the first rows answers. Where full lanes fill the head of the queue, each lane
 * is asked for its first row (a step through the index for each lane, not for each delivery); among one more than the
 * full lanes, one is not full.
 */
export async function nextDue(
  db: Db,
  args: { fullLanes: string[] },
  now: number,
): Promise<number | undefined> {
  const full = new Set(args.fullLanes)
  const head = await db
    .selectFrom('deliveries')
    .select(['lane', 'due_at'])
    .where('held', '=', notHeld)
    .where((where) => unleased(where, now))
    .orderBy('due_at')
    .limit(full.size === 0 ? 1 : HEAD)
    .execute()
  const next = head.find((row) => !full.has(row.lane))
  if (next || full.size === 0 || head.length < HEAD) return next?.due_at
  const lanes = await sql<{ lane: string; due_at: number }>`
    with recursive lanes (lane) as (
      select min(lane) from deliveries where held = 0
      union all
      select (select min(d.lane) from deliveries d where d.held = 0 and d.lane > lanes.lane)
      from lanes where lanes.lane is not null
    ), firsts as (
      select lane, (
        select d.due_at from deliveries d
        where d.held = 0 and d.lane = lanes.lane and (d.lease_until is null or d.lease_until <= ${now})
        order by d.due_at limit 1
      ) as due_at
      from lanes where lane is not null
    )
    select lane, due_at from firsts where due_at is not null order by due_at limit ${full.size + 1}
  `.execute(db)
  return lanes.rows.find((row) => !full.has(row.lane))?.due_at
}

/**
 * See `Storage.queueSummary`. Each delivery is counted once: in flight, else held, else waiting. The oldest is looked
 * for among all that are not held, in flight or not.
 */
export async function queueSummary(
  db: Db,
  args: { teamId?: string | undefined },
  now: number,
): Promise<QueueSummary> {
  const inFlight = sql`(lease_until is not null and lease_until > ${now})`
  const row = await db
    .selectFrom('deliveries')
    .select([
      sql<number | null>`sum(case when ${inFlight} or held = 1 then 0 else 1 end)`.as('waiting'),
      sql<number | null>`sum(case when ${inFlight} then 0 else held end)`.as('held'),
      sql<number | null>`sum(case when ${inFlight} then 1 else 0 end)`.as('in_flight'),
      sql<number | null>`min(case when held = 0 then created_at end)`.as('oldest_at'),
    ])
    .where((where) => matching(where, { teamId: args.teamId }))
    .executeTakeFirstOrThrow()
  return {
    waiting: Number(row.waiting ?? 0),
    held: Number(row.held ?? 0),
    inFlight: Number(row.in_flight ?? 0),
    oldestAt: row.oldest_at === null ? null : Number(row.oldest_at),
  }
}

/** See `Storage.listQueue`. Oldest first. */
export async function listQueue(db: Db, args: QueueFilter & { limit: number }): Promise<Delivery[]> {
  const wanted = db
    .selectFrom('deliveries')
    .select('id')
    .where((where) => matching(where, args))
    .orderBy('id')
    .limit(args.limit)
  const rows = await selectDeliveries(db).where('r.id', 'in', wanted).orderBy('r.id').execute()
  return rows.map(toDelivery)
}

/** See `Storage.holdQueue`. */
export async function holdQueue(db: Db, filter: QueueFilter): Promise<number> {
  const updated = await db
    .updateTable('deliveries')
    .set({ held: 1 })
    .where('held', '=', notHeld)
    .where((where) => matching(where, filter))
    .executeTakeFirstOrThrow()
  return Number(updated.numUpdatedRows)
}

/** See `Storage.releaseQueue`. */
export async function releaseQueue(db: Db, filter: QueueFilter): Promise<number> {
  const updated = await db
    .updateTable('deliveries')
    .set({ held: 0 })
    .where('held', '=', 1)
    .where((where) => matching(where, filter))
    .executeTakeFirstOrThrow()
  return Number(updated.numUpdatedRows)
}

/**
 * See `Storage.retryQueue`. Held deliveries and those in flight are left alone, and so is an email that its sender
 * scheduled for later: what leaves too early cannot be taken back.
 */
export async function retryQueue(db: Db, filter: QueueFilter, now: number): Promise<number> {
  const updated = await db
    .updateTable('deliveries')
    .set({ due_at: now })
    .where('held', '=', notHeld)
    .where((where) => matching(where, filter))
    .where((where) => unleased(where, now))
    .where(
      sql<SqlBool>`not (attempts = 0 and due_at > ${now} and exists (
        select 1 from emails where emails.id = deliveries.email_id and emails.scheduled_at > ${now}))`,
    )
    .executeTakeFirstOrThrow()
  return Number(updated.numUpdatedRows)
}
