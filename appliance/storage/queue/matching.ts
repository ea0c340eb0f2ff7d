/** Filters of the queue as conditions over `deliveries`. */
import { type Expression, type ExpressionBuilder, type RawBuilder, sql, type SqlBool } from 'kysely'
import type { Tables } from '../schema.ts'
import type { QueueFilter, TagFilter } from './queue.ts'

/** What conditions are built with. */
export type Where = ExpressionBuilder<Tables, 'deliveries'>

/** Written out, not bound: the planners use the partial indexes only for a condition that they can read. */
export const notHeld = sql.lit(0)

/** The lease is free: never taken, given back, or run out. */
export const unleased = (where: Where, now: number): Expression<SqlBool> =>
  where.or([where('lease_until', 'is', null), where('lease_until', '<=', now)])

/** All conditions of a filter, but for `reply`, which is not for SQL: its text lies in JSON. */
export function matching(where: Where, filter: QueueFilter, now: number): Expression<SqlBool> {
  const { domain, state, tag, createdBefore, createdFrom, category, source, touch } = filter
  const equal = {
    team_id: filter.teamId,
    email_id: filter.emailId,
    domain: domain?.toLowerCase(),
    provider: filter.provider === '?' ? undefined : filter.provider,
    pool: filter.pool,
    stream: filter.stream,
    touched_by: filter.touchedBy,
  } as const
  const conditions: Expression<SqlBool>[] = []
  for (const [column, value] of Object.entries(equal))
    if (value !== undefined) conditions.push(where(column as keyof typeof equal, '=', value))
  if (filter.deliveryIds) conditions.push(where('id', 'in', filter.deliveryIds))
  if (filter.provider === '?') conditions.push(where('provider', 'like', '?%'))
  if (state !== undefined) conditions.push(where('held', '=', state === 'held' ? 1 : 0))
  if (createdBefore !== undefined) conditions.push(where('created_at', '<', createdBefore))
  if (createdFrom !== undefined) conditions.push(where('created_at', '>=', createdFrom))
  if (touch) conditions.push(touched(where, touch, now))
  if (tag) conditions.push(tagged(tag))
  if (category !== undefined) conditions.push(about(category))
  if (source !== undefined) conditions.push(leftFrom(source))
  if (filter.notOfOperator)
    conditions.push(
      sql<SqlBool>`not exists (select 1 from audit_log
        where audit_log.id = deliveries.touched_by and audit_log.team_id is null)`,
    )
  return where.and(conditions)
}

/** What an action would change. Never what is in flight, where that would contradict what its attempt is about to write. */
function touched(
  where: Where,
  { action, pool }: NonNullable<QueueFilter['touch']>,
  now: number,
): Expression<SqlBool> {
  switch (action) {
    case 'hold':
      return where('held', '=', notHeld)
    case 'release':
      return where('held', '=', 1)
    case 'retry':
      // Nor what its sender scheduled for later: what leaves too early cannot be taken back.
      return where.and([
        where('held', '=', notHeld),
        unleased(where, now),
        sql<SqlBool>`not (attempts = 0 and due_at > ${now} and exists (
          select 1 from emails where emails.id = deliveries.email_id and emails.scheduled_at > ${now}))`,
      ])
    case 'reroute':
      return pool === undefined ? where('pool_before', 'is not', null) : where('pool', '!=', pool)
    case 'expire':
    case 'drop':
      return unleased(where, now)
  }
}

/**
 * Whether a column of JSON that we wrote has this piece in it. Exact: within a string, its quotes would be escaped. Of
 * the ways to say so, this one means the same in both engines and minds the case.
 */
const has = (column: RawBuilder<string>, piece: string): RawBuilder<SqlBool> =>
  sql<SqlBool>`replace(${column}, ${piece}, '') <> ${column}`

function tagged({ name, value }: TagFilter): RawBuilder<SqlBool> {
  const piece = `{"name":${JSON.stringify(name)},"value":${value === null ? '' : `${JSON.stringify(value)}}`}`
  return sql<SqlBool>`exists (select 1 from emails
    where emails.id = deliveries.email_id and ${has(sql<string>`emails.tags`, piece)})`
}

function about(category: string): RawBuilder<SqlBool> {
  const piece = `"category":${JSON.stringify(category)}`
  return sql<SqlBool>`exists (select 1 from recipients
    where recipients.id = deliveries.id and ${has(sql<string>`recipients.cause`, piece)})`
}

/** The last attempt that the delivery had a part in; `source` is no other key of a transcript. */
function leftFrom(source: string): RawBuilder<SqlBool> {
  const piece = `"source":${JSON.stringify(source)}`
  return sql<SqlBool>`attempts > 0 and ${piece} = (
    select case when ${has(sql<string>`a.transcript`, piece)} then ${piece} end from attempts as a
    where a.email_id = deliveries.email_id
      and replace(a.delivery_ids, '"' || deliveries.id || '"', '') <> a.delivery_ids
    order by a.id desc limit 1)`
}
