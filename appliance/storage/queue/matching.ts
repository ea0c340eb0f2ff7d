/** Converts a queue filter to conditions on `deliveries`. Deliveries are examined in short steps. */
import { type Expression, type ExpressionBuilder, type RawBuilder, sql, type SqlBool } from 'kysely'
import { formatReply } from '../../mail/reply.ts'
import type { Cause } from '../../mail/verdict.ts'
import { isQueued } from '../deliveries.ts'
import type { Db, Tables } from '../schema.ts'
import type { BounceCategory } from '../../mail/bounce.ts'
import type { Stream, QueueAction } from '../../mail/queue.ts'

/** A tag of emails; without a value, any value matches. */
export interface TagFilter {
  name: string
  value: string | null
}

/** A filter for queued deliveries. All given conditions must match; without conditions, all deliveries match. */
export interface QueueFilter {
  teamId?: string | undefined
  deliveryIds?: readonly string[] | undefined
  emailId?: string | undefined
  /** ID of the email's broadcast. */
  broadcastId?: string | undefined
  /** Recipient domain. */
  domain?: string | undefined
  /** `?` selects domains that were never looked up. */
  provider?: string | undefined
  pool?: string | undefined
  /** The region of the pool. */
  region?: string | undefined
  /** ID or machine name of a node that has a sending IP in the pool. */
  node?: string | undefined
  stream?: Stream | undefined
  tag?: TagFilter | undefined
  state?: 'waiting' | 'held' | undefined
  /** Time of acceptance: before `createdBefore`, and at or after `createdFrom` (Unix milliseconds). */
  createdBefore?: number | undefined
  createdFrom?: number | undefined
  /** Part of the reply or explanation of the last attempt, ignoring case. */
  reply?: string | undefined
  category?: BounceCategory | undefined
  /** The sending IP of the last attempt. */
  source?: string | undefined
  /** Selects deliveries that this audit entry last held, released or rerouted. */
  touchedBy?: string | undefined
  /** Excludes deliveries that were last held, released or rerouted by an action on the whole server. */
  notOfOperator?: true | undefined
  /** Selects only deliveries that this action would change. */
  touch?: { action: QueueAction; pool?: string | undefined } | undefined
}

/** Kysely's builder for conditions. */
export type ConditionBuilder = ExpressionBuilder<Tables, 'deliveries'>

/** Written as a literal, because the planners use the partial indexes only if the condition isn't a bound parameter. */
export const waitingState = sql.lit('waiting' as const)

/** Matches deliveries that aren't leased: never leased, returned to the queue, or with an expired lease. */
export const isUnleased = (where: ConditionBuilder, now: number): Expression<SqlBool> =>
  where.or([where('lease_until', 'is', null), where('lease_until', '<=', now)])

/** Matches all conditions of a filter except `reply`, whose text is in JSON and can't be matched in SQL. */
function matching(where: ConditionBuilder, filter: QueueFilter, now: number): Expression<SqlBool> {
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
  if (filter.region !== undefined)
    conditions.push(
      sql<SqlBool>`pool in (select pool_regions.pool from pool_regions where region = ${filter.region})`,
    )
  if (filter.node !== undefined) conditions.push(sentBy(filter.node))
  if (category !== undefined) conditions.push(about(category))
  if (source !== undefined) conditions.push(leftFrom(source))
  if (filter.notOfOperator)
    conditions.push(
      sql<SqlBool>`not exists (select 1 from audit_log
        where audit_log.id = deliveries.touched_by and audit_log.team_id is null)`,
    )
  return where.and(conditions)
}

/**
 * Matches the deliveries that an action would change. Excludes deliveries in flight if the change would contradict the
 * result of their attempt.
 */
function touched(
  where: ConditionBuilder,
  { action, pool }: NonNullable<QueueFilter['touch']>,
  now: number,
): Expression<SqlBool> {
  switch (action) {
    case 'hold':
      return where('state', '=', waitingState)
    case 'release':
      return where('state', '=', 'held')
    case 'retry':
      // Excludes mail that its sender scheduled for later, because mail that is sent too early can't be recalled.
      return where.and([
        where('state', '=', waitingState),
        isUnleased(where, now),
        sql<SqlBool>`not (attempts = 0 and due_at > ${now} and exists (
          select 1 from emails where emails.id = deliveries.email_id and emails.scheduled_at > ${now}))`,
      ])
    case 'reroute':
      return pool === undefined ? where('pool_before', 'is not', null) : where('pool', '!=', pool)
    case 'expire':
    case 'drop':
      return isUnleased(where, now)
  }
}

/**
 * Whether a column with JSON that we wrote contains this piece. The result is exact, because quotes within a string are
 * escaped. The expression works the same way in both engines and is case-sensitive.
 */
const has = (column: RawBuilder<string>, piece: string): RawBuilder<SqlBool> =>
  sql<SqlBool>`replace(${column}, ${piece}, '') <> ${column}`

/** Matches deliveries in pools of a node. `auto` isn't known by node, because each node has its own. */
const sentBy = (node: string): RawBuilder<SqlBool> =>
  sql<SqlBool>`pool in (select sources.pool from sources join nodes on nodes.id = sources.node_id
    where nodes.id = ${node} or nodes.name = ${node})`

function tagged({ name, value }: TagFilter): RawBuilder<SqlBool> {
  const piece = `{"name":${JSON.stringify(name)},"value":${value === null ? '' : `${JSON.stringify(value)}}`}`
  return sql<SqlBool>`exists (select 1 from emails
    where emails.id = deliveries.email_id and ${has(sql<string>`emails.tags`, piece)})`
}

function about(category: string): RawBuilder<SqlBool> {
  const piece = `"category":${JSON.stringify(category)}`
  return has(sql<string>`coalesce(cause, '')`, piece)
}

/**
 * Matches the sending IP of the last attempt that included the delivery. `source` is not a key anywhere else in a
 * transcript.
 */
function leftFrom(source: string): RawBuilder<SqlBool> {
  const piece = `"source":${JSON.stringify(source)}`
  return sql<SqlBool>`attempts > 0 and ${piece} = (
    select case when ${has(sql<string>`a.transcript`, piece)} then ${piece} end from attempts as a
    where a.email_id = deliveries.email_id
      and replace(a.delivery_ids, '"' || deliveries.id || '"', '') <> a.delivery_ids
    order by a.id desc limit 1)`
}

/**
 * Arguments of a step. Changes of many deliveries run in steps, so that they never block the writer for long. Each step
 * examines the next `limit` deliveries by ID, and `runAllSteps` (storage.ts) runs the steps one after the other.
 */
export interface StepArgs {
  /** Number of deliveries to examine. The default is 2000, which takes the writer about 30 ms. */
  limit?: number | undefined
  /** ID at which the previous step ended; undefined for the first step. */
  after?: string | undefined
}

/** The result of a step. */
export interface Step {
  /** Number of changed deliveries. */
  count: number
  /** ID after which the next step begins; null if there are no more steps. */
  next: string | null
}

/** Default number of deliveries that a step examines. */
const LIMIT = 2000

/** The deliveries of one step as a range of IDs: after `after`, up to and including `last`. */
export interface IdRange {
  after: string
  last: string
  /** ID after which the next step begins; null if this step is the last. */
  next: string | null
}

/**
 * Returns the next range; undefined if nothing is left. Conditions of the filter that have an index narrow the range;
 * `matching` checks the others within it. A step takes the same time whether much of the range matches or nothing.
 */
export async function findNextRange(
  db: Db,
  { deliveryIds, emailId, domain }: QueueFilter,
  { limit = LIMIT, after = '' }: StepArgs,
): Promise<IdRange | undefined> {
  let query = db.selectFrom('deliveries').select('id').where(isQueued).where('id', '>', after)
  if (deliveryIds !== undefined) query = query.where('id', 'in', deliveryIds)
  else if (emailId !== undefined) query = query.where('email_id', '=', emailId)
  else if (domain !== undefined) query = query.where('domain', '=', domain.toLowerCase())
  const rows = await query.orderBy('id').limit(limit).execute()
  const last = rows.at(-1)?.id
  if (last === undefined) return undefined
  return { after, last, next: rows.length < limit ? null : last }
}

/** Matches deliveries in the range. */
export const isInRange = (where: ConditionBuilder, { after, last }: IdRange): Expression<SqlBool> =>
  where.and([isQueued, where('id', '>', after), where('id', '<=', last)])

/** The deliveries of a step's range that match a filter. */
export interface MatchingRange {
  /** Returns the condition on `deliveries`. */
  where: (where: ConditionBuilder) => Expression<SqlBool>
  /** ID after which the next step begins; null if this step is the last. */
  next: string | null
}

/** Number of deliveries per step if the filter reads data of attempts, at about 20 microseconds each. */
const SLOW_LIMIT = 500

/** Returns the next portion that matches a filter; undefined if nothing is left. */
export async function findNextMatchingRange(
  db: Db,
  filter: QueueFilter,
  step: StepArgs,
  now: number,
): Promise<MatchingRange | undefined> {
  const slow = filter.reply !== undefined || filter.source !== undefined
  const limit = slow ? Math.min(step.limit ?? SLOW_LIMIT, SLOW_LIMIT) : step.limit
  const range = await findNextRange(db, filter, { limit, after: step.after })
  if (!range) return undefined
  const plain = (where: ConditionBuilder) =>
    where.and([matching(where, filter, now), isInRange(where, range)])
  if (filter.reply === undefined) return { where: plain, next: range.next }
  const ids = await answered(db, plain, filter.reply)
  // An empty list isn't supported by every engine.
  const where =
    ids.length === 0
      ? () => sql<SqlBool>`1 = 0`
      : (where: ConditionBuilder) => where.and([isQueued, where('id', 'in', ids)])
  return { where, next: range.next }
}

/**
 * Returns deliveries whose last attempt ended with this text in its reply or explanation. Checked outside SQL, because the
 * engines read JSON in different ways.
 */
async function answered(db: Db, where: MatchingRange['where'], words: string): Promise<string[]> {
  const rows = await db
    .selectFrom('deliveries')
    .select(['id', 'cause'])
    .where(where)
    .where('cause', 'is not', null)
    .execute()
  const wanted = words.toLowerCase()
  return rows.filter(({ cause }) => spoken(cause!).includes(wanted)).map(({ id }) => id)
}

/** Returns the text of a cause to search in: the reply as servers write it (`451 4.7.1 later`), and our explanation. */
function spoken(cause: string): string {
  const { reply, note } = JSON.parse(cause) as Cause
  return `${reply ? `${formatReply(reply)}\n` : ''}${note}`.toLowerCase()
}
