/** Long changes of the queue in short steps: which deliveries a step looks at. */
import { type Expression, sql, type SqlBool } from 'kysely'
import { formatReply } from '../../mail/reply.ts'
import type { Cause } from '../../mail/verdict.ts'
import type { Db } from '../schema.ts'
import { matching, type Where } from './matching.ts'
import type { QueueFilter } from './queue.ts'

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
  let query = db.selectFrom('deliveries').select('id').where('id', '>', after)
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
  where.and([where('id', '>', after), where('id', '<=', last)])

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
  const where = ids.length === 0 ? () => sql<SqlBool>`1 = 0` : (where: Where) => where('id', 'in', ids)
  return { where, next: range.next }
}

/** Those whose last attempt ended with these words. The text lies in JSON, which the engines read in different ways. */
async function answered(db: Db, where: Portion['where'], words: string): Promise<string[]> {
  const rows = await db
    .selectFrom('recipients')
    .select(['id', 'cause'])
    .where('id', 'in', (query) => query.selectFrom('deliveries').select('id').where(where))
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
