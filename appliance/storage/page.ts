/** Pages of what has an id that begins with its time. */
import { type SelectQueryBuilder, sql, type SqlBool } from 'kysely'
import type { Tables } from './schema.ts'

/** Pages run newest first; `after` and `before` are ids and exclusive. */
export interface PageArgs {
  teamId: string
  limit: number
  after?: string | undefined
  before?: string | undefined
}

export interface Page<T> {
  items: T[]
  hasMore: boolean
}

/**
 * One page, newest first. With `before` alone it is the one next to the cursor, so it is read upwards and turned round; `hasMore` then
 * tells of newer rows.
 * @param query all the rows, with their columns, unordered; of one table, that has an `id`
 */
export async function pageOf<T extends keyof Tables, Row, Item>(
  query: SelectQueryBuilder<Tables, T, Row>,
  { after, before, limit }: Omit<PageArgs, 'teamId'>,
  toItem: (row: Row) => Item,
): Promise<Page<Item>> {
  const upwards = before !== undefined && after === undefined
  let within = query
  if (after !== undefined) within = within.where(sql<SqlBool>`id < ${after}`)
  if (before !== undefined) within = within.where(sql<SqlBool>`id > ${before}`)
  const rows = await within
    .orderBy(sql`id`, upwards ? 'asc' : 'desc')
    .limit(limit + 1)
    .execute()
  const items = rows.slice(0, limit).map(toItem)
  return { items: upwards ? items.reverse() : items, hasMore: rows.length > limit }
}
