/** The PostgreSQL database that is filled. It stores the progress, so that a move can continue after a crash. */
import { StorageRefused } from '../engine/failures.ts'
import type { PostgresTarget } from '../postgres/client.ts'
import { PostgresConnection } from '../postgres/connection.ts'
import { migrate, findMissingMigrations } from '../postgres/migrate.ts'
import type { Move } from './marker.ts'
import { passUncommittedRows, SEEDED, type Target, type TargetState } from './parts.ts'
import type { Batch, Row, Value } from './rows.ts'
import { type TableToMove, quoteName } from './tables.ts'

export class MoveTarget implements Target {
  readonly #db: PostgresConnection

  /** Connects on the first call. Refuses a database that a daemon uses, and a server that could lose mail. */
  constructor(target: PostgresTarget) {
    this.#db = new PostgresConnection(target, 'alone')
  }

  /**
   * Reads the state of the database without changing it.
   * @throws StorageRefused if it belongs to another program or a newer version
   */
  state(): TargetState {
    findMissingMigrations(this.#db, { moving: true })
    const names = this.#all<{ name: string }>(
      'select tablename as name from pg_tables where schemaname = current_schema() order by 1',
    ).map(({ name }) => name)
    if (names.length === 0) return { kind: 'new' }
    if (names.includes('storage_move'))
      return {
        kind: 'move',
        id: this.#all<{ id: string }>('select move_id as id from storage_move limit 1')[0]!.id,
      }
    const used = names
      .filter((name) => !SEEDED.includes(name))
      .find((name) => this.#all(`select 1 from ${quoteName(name)} limit 1`).length > 0)
    return used === undefined ? { kind: 'empty' } : { kind: 'used', table: used }
  }

  /** Whether a move has ended here. Its audit entry is added by the last step. */
  hasEnded({ id }: Move): boolean {
    const known = this.#all<{ known: boolean }>("select to_regclass('audit_log') is not null as known")[0]!
      .known
    return known && this.#all('select 1 from audit_log where id = $1', [id]).length > 0
  }

  /** Creates the schema, and disables triggers, because the moved rows are already complete. */
  begin(tables: readonly TableToMove[], { id }: Move): void {
    migrate(this.#db, { moving: true })
    this.#transaction(() => {
      this.#db.script(
        'create table storage_move (name text primary key, move_id text not null, after text, row_count bigint not null)',
      )
      for (const { name } of tables) {
        this.#db.query('insert into storage_move (name, move_id, row_count) values ($1, $2, 0)', [name, id])
        this.#db.script(`alter table ${quoteName(name)} disable trigger user`)
        if (SEEDED.includes(name)) this.#db.script(`delete from ${quoteName(name)}`)
      }
    })
  }

  /** Returns how much of a table has been stored. */
  progress({ name }: TableToMove): { rows: number; after: Row | undefined } {
    const [found] = this.#all<{ rows: number; after: string | null }>(
      'select row_count as rows, after from storage_move where name = $1',
      [name],
    )
    if (!found)
      throw new StorageRefused(`The move was started by another version, without the table ${name}.`)
    return { rows: found.rows, after: found.after === null ? undefined : (JSON.parse(found.after) as Row) }
  }

  /** Stores a batch and the progress in one transaction. */
  store({ name, columns }: TableToMove, { rows, last }: Batch): void {
    const tuples = rows.map(
      (row, at) => `(${row.map((_, column) => `$${at * row.length + column + 1}`).join(', ')})`,
    )
    const insert = `insert into ${quoteName(name)} (${columns.map(quoteName).join(', ')}) values ${tuples.join(', ')}`
    this.#transaction(() => {
      this.#db.query(insert, rows.flat())
      this.#db.query('update storage_move set after = $1, row_count = row_count + $2 where name = $3', [
        JSON.stringify(last),
        rows.length,
        name,
      ])
    })
  }

  /** Reads the rows of a range of keys, including both ends, at most `most`. */
  range({ name, columns, key }: TableToMove, { first, last }: Batch, most: number): Row[] {
    const names = key.map(quoteName).join(', ')
    const values = (from: number) => key.map((_, at) => `$${from + at}`).join(', ')
    const text = `select ${columns.map(quoteName).join(', ')} from ${quoteName(name)}
      where (${names}) >= (${values(1)}) and (${names}) <= (${values(1 + key.length)}) order by ${names} limit ${most}`
    const rows = this.#all<Record<string, Value>>(text, [...first, ...last])
    return rows.map((row) => columns.map((column) => row[column]!))
  }

  count({ name }: TableToMove): number {
    return this.#all<{ n: number }>(`select count(*) as n from ${quoteName(name)}`)[0]!.n
  }

  /**
   * Ends the move: lets row numbers continue after the last one, enables triggers again, and adds `log` to the audit log.
   */
  end(
    tables: readonly TableToMove[],
    sequences: readonly { table: string; last: number }[],
    log: readonly Record<string, Value>[],
  ): void {
    this.#transaction(() => {
      for (const { table, last } of sequences)
        this.#db.query('select setval(pg_get_serial_sequence($1, $2), $3)', [table, 'seq', last])
      for (const { name } of tables) this.#db.script(`alter table ${quoteName(name)} enable trigger user`)
      for (const entry of log) {
        const names = Object.keys(entry)
        this.#db.query(
          `insert into audit_log (${names.map(quoteName).join(', ')}) values (${names.map((_, at) => `$${at + 1}`).join(', ')})`,
          Object.values(entry),
        )
      }
      this.#db.script('drop table storage_move')
    })
    // Without statistics, the first queries would read whole tables.
    for (const { name } of tables) this.#db.script(`analyze ${quoteName(name)}`)
  }

  close(): void {
    this.#db.close()
  }

  #all<R>(text: string, values: Value[] = []): R[] {
    return this.#db.query(text, values).rows as R[]
  }

  #transaction(work: () => void): void {
    this.#db.prepare('begin').run()
    try {
      work()
      passUncommittedRows()
      this.#db.prepare('commit').run()
    } catch (error) {
      if (this.#db.inTransaction) this.#db.prepare('rollback').run()
      throw error
    }
  }
}
