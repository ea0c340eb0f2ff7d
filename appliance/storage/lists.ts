/** Helpers for lists: pages of rows whose IDs begin with their time, and search conditions. */
import { type Expression, type SelectQueryBuilder, sql, type SqlBool } from 'kysely'
import type { Db, Tables } from './schema.ts'

/** Arguments of a page of a list, newest first. `after` and `before` are exclusive IDs. */
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
 * Reads one page, newest first. With only `before`, reads in the opposite direction from the cursor and reverses the rows;
 * `hasMore` then refers to newer rows.
 * @param query all rows with their columns, unordered, of one table with an `id`, unless `by` names the column of the
 * cursors
 */
export async function readPage<T extends keyof Tables, Row, Item>(
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
 * Deletes the oldest versions of an object.
 * @param args table and owner: the table of versions, and its column with the ID of the object. keep: number of versions to
 * keep. except: a version that is also kept
 */
export async function deleteOldVersions(
  db: Db,
  { table, owner, id, keep, except }: OldVersions,
): Promise<void> {
  const [rows, column] = [sql.table(table), sql.ref(owner)]
  const newest = sql`select id from ${rows} where ${column} = ${id} order by id desc limit ${keep}`
  await sql`delete from ${rows} where ${column} = ${id} and id <> ${except ?? ''} and id not in (${newest})`.execute(
    db,
  )
}

interface OldVersions {
  table: 'template_versions' | 'broadcast_versions'
  owner: 'template_id' | 'broadcast_id'
  id: string
  keep: number
  except?: string | null
}

/**
 * Returns rows for the VALUES of a statement. The first row declares the types, because PostgreSQL treats untyped
 * parameters as text.
 */
export const buildValues = (
  types: readonly ('bigint' | 'text')[],
  rows: readonly (readonly (string | number)[])[],
) => {
  const typed = (row: readonly (string | number)[]) =>
    row.map((value, i) => sql`cast(${value} as ${sql.raw(types[i]!)})`)
  return sql`(values ${sql.join(rows.map((row, i) => sql`(${sql.join(i === 0 ? typed(row) : row)})`))})`
}

/** Returns the smaller ID; undefined is ignored. */
export const minId = (a: string | undefined, b: string | undefined): string | undefined =>
  a !== undefined && b !== undefined && b < a ? b : (a ?? b)

/** Converts ASCII letters to lower case, as `lower` does in SQLite. */
export const toAsciiLowerCase = (text: string): string =>
  text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())

/** Escapes a text for a LIKE pattern, and converts it to lower case. */
export const escapeLike = (text: string): string => toAsciiLowerCase(text).replaceAll(/[\\%_]/g, '\\$&')

/**
 * Matches a LIKE pattern.
 * @param pattern the result of `escapeLike`, with wildcards around it
 */
export const like = (column: string, pattern: string): Expression<SqlBool> =>
  sql<SqlBool>`lower(${sql.ref(column)}) like ${pattern} escape '\\'`

/** Matches columns that contain the text, ignoring the case of ASCII letters. */
export const contains = (column: string, text: string): Expression<SqlBool> =>
  like(column, `%${escapeLike(text)}%`)

/**
 * Matches rows created with an API key.
 * @param key ID or name of an API key of the team
 */
export const isCreatedWithKey = (key: string, teamId: string): Expression<SqlBool> =>
  sql<SqlBool>`(api_key_id = ${key}
    or api_key_id in (select id from api_keys where team_id = ${teamId} and name = ${key}))`
