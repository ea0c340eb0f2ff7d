/** Which deliveries a change of the queue is about: its filter as conditions over `deliveries`, looked at in short steps. */
import { type Expression, type ExpressionBuilder, type RawBuilder, sql, type SqlBool } from 'kysely'
import { formatReply } from '../../mail/reply.ts'
import type { Cause } from '../../mail/verdict.ts'
import { queued } from '../deliveries.ts'
import type { Db, Tables } from '../schema.ts'
import type { Category } from '../../mail/bounce.ts'
import type { Stream, QueueAction } from '../../mail/queue.ts'

/** A tag of emails; without a value, any. */
export interface TagFilter {
  name: string
  value: string | null
}

/** Which waiting deliveries are meant; all given conditions must hold. None given means all. */
export interface QueueFilter {
  teamId?: string | undefined
  deliveryIds?: readonly string[] | undefined
  emailId?: string | undefined
  /** The broadcast that it is part of. */
  broadcastId?: string | undefined
  /** Recipient domain. */
  domain?: string | undefined
  /** `?`: domains that were never looked up. */
  provider?: string | undefined
  pool?: string | undefined
  stream?: Stream | undefined
  tag?: TagFilter | undefined
  state?: 'waiting' | 'held' | undefined
  /** Accepted before, or at and after, these instants (Unix milliseconds). */
  createdBefore?: number | undefined
  createdFrom?: number | undefined
  /** Words in the reply or the sentence that the last attempt ended with, in any case. */
  reply?: string | undefined
  category?: Category | undefined
  /** The source of the last attempt. */
  source?: string | undefined
  /** Last held, released or re-routed by this audit entry. */
  touchedBy?: string | undefined
  /** Not what an act upon the whole appliance held, released or re-routed last. */
  notOfOperator?: true | undefined
  /** Only those that this would change. */
  touch?: { action: QueueAction; pool?: string | undefined } | undefined
}

/** What conditions are built with. */
export type Where = ExpressionBuilder<Tables, 'deliveries'>

/** Written out, not bound: the planners use the partial indexes only for a condition that they can read. */
export const waiting = sql.lit('waiting' as const)

/** The lease is free: never taken, given back, or run out. */
export const unleased = (where: Where, now: number): Expression<SqlBool> =>
  where.or([where('lease_until', 'is', null), where('lease_until', '<=', now)])

/** All conditions of a filter, but for `reply`, which is not for SQL: its text lies in JSON. */
function matching(where: Where, filter: QueueFilter, now: number): Expression<SqlBool> {
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
  if (state !== undefined) conditions.push(where('state', '=', state))
  if (createdBefore !== undefined) conditions.push(where('created_at', '<', createdBefore))
  if (createdFrom !== undefined) conditions.push(where('created_at', '>=', createdFrom))
  if (touch) conditions.push(touched(where, touch, now))
  if (tag) conditions.push(tagged(tag))
  if (filter.broadcastId !== undefined)
    conditions.push(
      sql<SqlBool>`exists (select 1 from emails
        where emails.id = deliveries.email_id and emails.broadcast_id = ${filter.broadcastId})`,
    )
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
      return where('state', '=', waiting)
    case 'release':
      return where('state', '=', 'held')
    case 'retry':
      // Nor what its sender scheduled for later: what leaves too early cannot be taken back.
      return where.and([
        where('state', '=', waiting),
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
  return has(sql<string>`coalesce(cause, '')`, piece)
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

/**
 * A change of many deliveries is made in steps, so that the writer is never held for long: each step looks at the next
 * `limit` deliveries in the order of their ids, and `every` (storage.ts) takes one after the other.
 */
export interface StepArgs {
  /** Deliveries to look at. Default 2000: some 30 ms of the writer. */
  limit?: number | undefined
  /** Where the step before ended; nothing begins at the start. */
  after?: string | undefined
}

/** How far a step came. */
export interface Step {
  /** Deliveries that were changed. */
  count: number
  /** Where the next step begins; null when there is none. */
  next: string | null
}

/** Deliveries that a step looks at unless it is told otherwise. */
const LIMIT = 2000

/** The deliveries of one step, as a range of ids: after the first, up to and with the last. */
export interface Range {
  after: string
  last: string
  /** Where the next step begins; null when this one is the last. */
  next: string | null
}

/**
 * The next range, or undefined when nothing is left. The conditions of the filter that have an index make it narrow;
 * the others are for `matching`, within the range: a step costs the same whether much of it matches or nothing.
 */
export async function nextRange(
  db: Db,
  { deliveryIds, emailId, domain }: QueueFilter,
  { limit = LIMIT, after = '' }: StepArgs,
): Promise<Range | undefined> {
  let query = db.selectFrom('deliveries').select('id').where(queued).where('id', '>', after)
  if (deliveryIds !== undefined) query = query.where('id', 'in', deliveryIds)
  else if (emailId !== undefined) query = query.where('email_id', '=', emailId)
  else if (domain !== undefined) query = query.where('domain', '=', domain.toLowerCase())
  const rows = await query.orderBy('id').limit(limit).execute()
  const last = rows.at(-1)?.id
  if (last === undefined) return undefined
  return { after, last, next: rows.length < limit ? null : last }
}

/** The condition that a delivery is in the range. */
export const within = (where: Where, { after, last }: Range): Expression<SqlBool> =>
  where.and([queued, where('id', '>', after), where('id', '<=', last)])

/** What a step is about: the deliveries of its range that a filter names. */
export interface Portion {
  /** The condition, over `deliveries`. */
  where: (where: Where) => Expression<SqlBool>
  /** Where the next step begins; null when this one is the last. */
  next: string | null
}

/** Deliveries of a step whose filter reads what attempts left behind: some 20 microseconds each. */
const SLOW_LIMIT = 500

/** The next portion of what a filter names, or undefined when nothing is left. */
export async function nextPortion(
  db: Db,
  filter: QueueFilter,
  step: StepArgs,
  now: number,
): Promise<Portion | undefined> {
  const slow = filter.reply !== undefined || filter.source !== undefined
  const limit = slow ? Math.min(step.limit ?? SLOW_LIMIT, SLOW_LIMIT) : step.limit
  const range = await nextRange(db, filter, { limit, after: step.after })
  if (!range) return undefined
  const plain = (where: Where) => where.and([matching(where, filter, now), within(where, range)])
  if (filter.reply === undefined) return { where: plain, next: range.next }
  const ids = await answered(db, plain, filter.reply)
  // No engine takes an empty list everywhere.
  const where =
    ids.length === 0
      ? () => sql<SqlBool>`1 = 0`
      : (where: Where) => where.and([queued, where('id', 'in', ids)])
  return { where, next: range.next }
}

/** Those whose last attempt ended with these words. The text lies in JSON, which the engines read in different ways. */
async function answered(db: Db, where: Portion['where'], words: string): Promise<string[]> {
  const rows = await db
    .selectFrom('deliveries')
    .select(['id', 'cause'])
    .where(where)
    .where('cause', 'is not', null)
    .execute()
  const wanted = words.toLowerCase()
  return rows.filter(({ cause }) => spoken(cause!).includes(wanted)).map(({ id }) => id)
}

/** What a cause says: `451 4.7.1 later` as servers write it, and our sentence. */
function spoken(cause: string): string {
  const { reply, note } = JSON.parse(cause) as Cause
  return `${reply ? `${formatReply(reply)}\n` : ''}${note}`.toLowerCase()
}
