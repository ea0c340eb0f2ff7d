/** Conditions that searches share. */
import { type Expression, sql, type SqlBool } from 'kysely'

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

/** For a pattern: ASCII letters alone, as `lower` in SQL has it, and nothing in it is a wildcard. */
export const lowered = (text: string): string =>
  text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()).replaceAll(/[\\%_]/g, '\\$&')

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
