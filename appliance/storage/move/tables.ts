/** The tables of both engines, and how their rows change on the way to the other one. */
import type { Connection } from '../sqlite/connection.ts'

/** A table to move. */
export interface TableToMove {
  name: string
  columns: readonly string[]
  /** The columns of the primary key, by which rows are read and compared. */
  key: readonly string[]
  /** Query that selects all columns, from one or several tables. `@move` is the ID of the move, `@at` its start. */
  select: string
  /** Name of the column with the message, which is null in rows whose message is in a file. */
  fileColumn: string | undefined
}

/** Tables that aren't moved, because each engine has its own. */
const OWN = ['migrations']

/**
 * Expressions for columns whose values change during the move: queued mail and broadcasts stop, and messages in files
 * become rows.
 */
const CHANGES: Record<string, Record<string, string>> = {
  deliveries: {
    state: "case state when 'waiting' then 'held' else state end",
    touched_by: "case state when 'waiting' then @move else touched_by end",
    lease_owner: 'null',
    lease_until: 'null',
  },
  broadcasts: {
    paused_at: "case when status in ('scheduled', 'queued') then coalesce(paused_at, @at) else paused_at end",
    pause_reason:
      "case when status in ('scheduled', 'queued') then coalesce(pause_reason, 'person') else pause_reason end",
  },
  received_emails: { in_file: '0' },
}

/** Sources of tables whose rows come from several tables. */
const SOURCES: Record<string, string> = {
  received_sources:
    '(select id, body from received_sources union all select id, null from received_emails where in_file = 1)',
}

const FILE_COLUMNS: Record<string, string> = { messages: 'body', received_sources: 'body' }

/** Quotes a name. `only` is reserved in PostgreSQL. */
export const quoteName = (name: string): string => `"${name}"`

/**
 * Lists the tables of a SQLite database, each after those that it refers to. Both engines have the same.
 * @param fromFiles whether messages are read from files
 */
export function listTables(db: Connection, { fromFiles }: { fromFiles: boolean }): TableToMove[] {
  const names = db
    .prepare<[], string>(
      "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' order by name",
    )
    .pluck()
    .all()
  const ordered: string[] = []
  const visit = (name: string): void => {
    if (ordered.includes(name)) return
    for (const parent of parentsOf(db, name)) if (parent !== name) visit(parent)
    ordered.push(name)
  }
  for (const name of names) if (!OWN.includes(name)) visit(name)
  return ordered.map((name) => tableOf(db, name, fromFiles))
}

const parentsOf = (db: Connection, name: string): string[] =>
  db.prepare<[string], string>('select "table" from pragma_foreign_key_list(?)').pluck().all(name)

function tableOf(db: Connection, name: string, fromFiles: boolean): TableToMove {
  const rows = db
    .prepare<[string], { name: string; pk: number }>('select name, pk from pragma_table_info(?)')
    .all(name)
  const columns = rows.map((row) => row.name)
  const key = rows
    .filter(({ pk }) => pk > 0)
    .toSorted((a, b) => a.pk - b.pk)
    .map((row) => row.name)
  const changes = CHANGES[name] ?? {}
  const values = columns.map((column) => `${changes[column] ?? quoteName(column)} as ${quoteName(column)}`)
  return {
    name,
    columns,
    key,
    select: `select ${values.join(', ')} from ${(fromFiles ? SOURCES[name] : undefined) ?? quoteName(name)}`,
    fileColumn: fromFiles ? FILE_COLUMNS[name] : undefined,
  }
}
