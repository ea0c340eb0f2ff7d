/** Translates the plain statements of performance-critical methods for PostgreSQL. Pure. */
import { isRepeatable } from './read-cache.ts'

/** A translated statement. */
export interface TranslatedStatement {
  /** The SQL with `$1` for the first parameter. */
  text: string
  /** The names of the parameters in order; null if they have no names. */
  names: string[] | null
  /** Set if the statement inserts one row of values, so that it can be combined with others. */
  insert: InsertTemplate | undefined
  /** Whether the same values return the same result until a statement of the transaction changes it (read-cache.ts). */
  repeatable: boolean
  control: 'begin' | 'commit' | 'rollback' | undefined
}

/** An insert of one row: the text before the values, the row with `?` for each value, and the text after. */
export interface InsertTemplate {
  table: string
  head: string
  row: string
  tail: string
}

/** A statement with its values. */
export interface BoundStatement extends Omit<TranslatedStatement, 'names'> {
  values: unknown[]
}

const CONTROL: Record<string, TranslatedStatement['control']> = {
  begin: 'begin',
  commit: 'commit',
  release: 'commit',
  rollback: 'rollback',
}

const INSERT = /^(insert into (\w+) \([^)]*\)\s*values )(\([^()]*\))(\s*on conflict \([^)]*\) do nothing)?$/

/** A list of values as a subquery. */
const LIST = /\bin \((select (?:value|cast\(value as \w+\)) from json_each\((?:\?|@\w+)\))\)/g

/**
 * Translates a text with `?` or `@name` parameters. Each occurrence becomes a separate parameter, so that PostgreSQL
 * can infer its type from the context. A list of values becomes an array, because PostgreSQL would read a whole table of a
 * few thousand rows to join it with a subquery.
 */
export function translateStatement(source: string): TranslatedStatement {
  const trimmed = source.trim().replaceAll(LIST, '= any (array($1))')
  const names: string[] = []
  let count = 0
  const text = trimmed.replaceAll(/\?|@([a-zA-Z]\w*)/g, (_, name?: string) => {
    if (name !== undefined) names.push(name)
    return `$${++count}`
  })
  const [, head, table, row, tail = ''] = INSERT.exec(trimmed) ?? []
  return {
    text,
    names: names.length > 0 ? names : null,
    insert: head === undefined ? undefined : { table: table!, head, row: row!, tail },
    repeatable: isRepeatable(text),
    control: CONTROL[/^\w*/.exec(trimmed)![0]],
  }
}

/** Binds values to a statement. */
export function bindValues({ names, ...text }: TranslatedStatement, given: unknown[]): BoundStatement {
  if (names === null) return { ...text, values: given }
  const [byName] = given as [Record<string, unknown>]
  return { ...text, values: names.map((name) => byName[name]) }
}

/** Returns the text of one insert of several rows. */
export function formatInsert({ head, row, tail }: InsertTemplate, rows: number): string {
  let count = 0
  const tuples = Array.from({ length: rows }, () => row.replaceAll('?', () => `$${++count}`))
  return `${head}${tuples.join(', ')}${tail}`
}
