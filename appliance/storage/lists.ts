/** What lists have in common: pages of what has an id that begins with its time, and search conditions. */
import { type Expression, type SelectQueryBuilder, sql, type SqlBool } from 'kysely'
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
 * @param query all the rows, with their columns, unordered; of one table, that has an `id`, unless `by` names the column of the cursors
 */
export async function pageOf<T extends keyof Tables, Row, Item>(
  query: SelectQueryBuilder<Tables, T, Row>,
  { after, before, limit }: Omit<PageArgs, 'teamId'>,
  toItem: (row: Row) => Item,
  by = 'id',
): Promise<Page<Item>> {
  const column = sql.ref(by)
  const upwards = before !== undefined && after === undefined
  let within = query
  if (after !== undefined) within = within.where(sql<SqlBool>`${column} < ${after}`)
  if (before !== undefined) within = within.where(sql<SqlBool>`${column} > ${before}`)
  const rows = await within
    .orderBy(column, upwards ? 'asc' : 'desc')
    .limit(limit + 1)
    .execute()
  const items = rows.slice(0, limit).map(toItem)
  return { items: upwards ? items.reverse() : items, hasMore: rows.length > limit }
}

/**
 * Rows that a statement brings along. The first one says of which types they are: PostgreSQL takes parameters that nothing else tells of for
 * text.
 */
export const valuesOf = (
  types: readonly ('bigint' | 'text')[],
  rows: readonly (readonly (string | number)[])[],
) => {
  const typed = (row: readonly (string | number)[]) =>
    row.map((value, i) => sql`cast(${value} as ${sql.raw(types[i]!)})`)
  return sql`(values ${sql.join(rows.map((row, i) => sql`(${sql.join(i === 0 ? typed(row) : row)})`))})`
}

/** The id nearer to the beginning; undefined: there is no bound. */
export const lowest = (a: string | undefined, b: string | undefined): string | undefined =>
  a !== undefined && b !== undefined && b < a ? b : (a ?? b)

/** In lower case: ASCII letters alone, as `lower` in SQL has it. */
export const asciiLower = (text: string): string =>
  text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())

/** For a pattern: `asciiLower`, and nothing in it is a wildcard. */
export const lowered = (text: string): string => asciiLower(text).replaceAll(/[\\%_]/g, '\\$&')

/** @param pattern what `lowered` made, with wildcards around it */
export const like = (column: string, pattern: string): Expression<SqlBool> =>
  sql<SqlBool>`lower(${sql.ref(column)}) like ${pattern} escape '\\'`

/** The text stands somewhere in the column, whatever the case of its ASCII letters. */
export const contains = (column: string, text: string): Expression<SqlBool> =>
  like(column, `%${lowered(text)}%`)

/** @param key id or name of an API key of the team */
export const madeWith = (key: string, teamId: string): Expression<SqlBool> =>
  sql<SqlBool>`(api_key_id = ${key}
    or api_key_id in (select id from api_keys where team_id = ${teamId} and name = ${key}))`
