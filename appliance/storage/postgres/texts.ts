/** Texts of plain statements, as the hot methods have them, for PostgreSQL. Pure. */

/** A text that can be run. */
export interface Text {
  /** With `$1` for the first value. */
  text: string
  /** The names of its values in their order; null where they have none. */
  names: string[] | null
  /** Of an insert of one row of values: it can go together with others. */
  insert: Insert | undefined
  control: 'begin' | 'commit' | 'rollback' | undefined
}

/** An insert of one row: what comes before the values, the row with `?` for each value, and what comes after. */
export interface Insert {
  table: string
  head: string
  row: string
  tail: string
}

/** A text with its values. */
export interface Bound extends Omit<Text, 'names'> {
  values: unknown[]
}

const CONTROL: Record<string, Text['control']> = {
  begin: 'begin',
  commit: 'commit',
  release: 'commit',
  rollback: 'rollback',
}

const INSERT = /^(insert into (\w+) \([^)]*\)\s*values )(\([^()]*\))(\s*on conflict \([^)]*\) do nothing)?$/

/** A text with `?`, or with `@name` for values that have names. Each place is a value of its own: so its type follows from the place alone. */
export function translate(source: string): Text {
  const trimmed = source.trim()
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
    control: CONTROL[/^\w*/.exec(trimmed)![0]],
  }
}

/** Gives a text its values. */
export function bind({ names, ...text }: Text, given: unknown[]): Bound {
  if (names === null) return { ...text, values: given }
  const [byName] = given as [Record<string, unknown>]
  return { ...text, values: names.map((name) => byName[name]) }
}

/** One insert of several rows. */
export function insertOf({ head, row, tail }: Insert, rows: number): string {
  let count = 0
  const tuples = Array.from({ length: rows }, () => row.replaceAll('?', () => `$${++count}`))
  return `${head}${tuples.join(', ')}${tail}`
}
