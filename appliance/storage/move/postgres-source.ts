/** The PostgreSQL database that is moved back to SQLite. It records the move, so that no daemon uses it any more. */
import { StorageRefused } from '../engine/failures.ts'
import type { PostgresTarget } from '../postgres/client.ts'
import { PostgresConnection } from '../postgres/connection.ts'
import { findMissingMigrations, newestPostgresSchema } from '../postgres/migrate.ts'
import type { Move } from './marker.ts'
import { afterKey, cut, PAGE, parameters, type Source } from './parts.ts'
import { type Batch, type Row, estimateRowSize, type Value } from './rows.ts'
import { type TableToMove, quoteName } from './tables.ts'

export class PostgresSource implements Source {
  readonly tables: readonly TableToMove[]
  /** PostgreSQL has no texts with U+0000. */
  replaced = 0
  readonly #db: PostgresConnection

  /** Connects at the first call. Refuses a database that a daemon uses. */
  constructor(target: PostgresTarget, tables: readonly TableToMove[]) {
    this.#db = new PostgresConnection(target, 'alone')
    this.tables = tables
  }

  /**
   * Refuses a database with another schema than this program, with several nodes, with messages in a bucket, or that
   * is being filled.
   * @throws StorageRefused
   */
  refuseUnsuitable(): void {
    const known = this.#one<{ known: boolean }>("select to_regclass('migrations') is not null as known").known
    if (!known)
      throw new StorageRefused('The database of storage.url has no mail: it is empty. Nothing was changed.')
    const isOlder = findMissingMigrations(this.#db, { left: true }).length > 0
    const { newest } = this.#one<{ newest: number }>('select max(number) as newest from migrations')
    if (isOlder || newest !== newestPostgresSchema())
      throw new StorageRefused(
        `The database of storage.url has schema ${newest}, and this program ${newestPostgresSchema()}. Nothing was changed. First run posthaste migrate with the newest version.`,
      )
    const { nodes } = this.#one<{ nodes: number }>('select count(*) as nodes from nodes')
    if (nodes > 1)
      throw new StorageRefused(
        `SQLite has one node, but the database of storage.url has ${nodes}. Nothing was changed. Remove the others, with their sending IPs: posthaste node forget NAME`,
      )
    const { stored } = this.#one<{ stored: number }>(
      'select (select count(*) from messages where body is null) + (select count(*) from received_emails where in_file = 1) as stored',
    )
    if (stored > 0)
      throw new StorageRefused(
        `${stored} messages are in the bucket of [s3], which migrate-storage doesn't move. Nothing was changed. Set storage.bodies = "engine", and run it again when retention has deleted them.`,
      )
  }

  /** Returns the move that has begun here; undefined if there is none. */
  move(): Move | undefined {
    const { known } = this.#one<{ known: boolean }>("select to_regclass('moved_away') is not null as known")
    if (!known) return undefined
    return this.#one<Move & Record<string, unknown>>(
      'select id, data_dir as database, started_at as "startedAt", finished_at as "finishedAt" from moved_away',
    )
  }

  /** Records the move. From now on, no other process opens the database. */
  mark({ id, database, startedAt, finishedAt }: Move): void {
    this.#db.script(
      `create table if not exists moved_away (id text primary key, data_dir text not null, started_at bigint not null, finished_at bigint)`,
    )
    this.#db.query(
      `insert into moved_away values ($1, $2, $3, $4) on conflict (id) do update set finished_at = excluded.finished_at`,
      [id, database, startedAt, finishedAt],
    )
  }

  count({ name }: TableToMove): number {
    return this.#one<{ n: number }>(`select count(*) as n from ${quoteName(name)}`).n
  }

  countHeld(): { deliveries: number; broadcasts: number } {
    const count = (from: string): number => this.#one<{ n: number }>(`select count(*) as n from ${from}`).n
    return {
      deliveries: count("deliveries where state = 'waiting'"),
      broadcasts: count("broadcasts where status in ('scheduled', 'queued') and paused_at is null"),
    }
  }

  sequences(): { table: string; last: number }[] {
    return this.tables
      .filter(({ columns }) => columns.includes('seq'))
      .flatMap(({ name }) => {
        const { sequence } = this.#one<{ sequence: string | null }>(
          'select pg_get_serial_sequence($1, $2) as sequence',
          [name, 'seq'],
        )
        if (sequence === null) return []
        const { last, called } = this.#one<{ last: number; called: boolean }>(
          `select last_value as last, is_called as called from ${sequence}`,
        )
        return called ? [{ table: name, last }] : []
      })
  }

  *batches(table: TableToMove, move: Move, after?: Row): Iterable<Batch> {
    const names = table.key.map(quoteName).join(', ')
    const read = (last: Row | undefined): Row[] => {
      const where = last ? afterKey(table.key, names) : ''
      const text = `select * from (${table.select}) as moved ${where} order by ${names} limit ${PAGE}`
      // An object of parameters must not be given to a statement without names.
      const rows = text.includes('@')
        ? this.#db.prepare<Record<string, Value>, Record<string, Value>>(text).all(parameters(move, last))
        : this.#db.prepare<[], Record<string, Value>>(text).all()
      return rows.map((row) => table.columns.map((column) => row[column]!))
    }
    for (let last = after; ;) {
      const page = read(last)
      for (const batch of cut(table, page, estimateRowSize)) {
        yield batch
        last = batch.last
      }
      if (page.length < PAGE) return
    }
  }

  close(): void {
    this.#db.close()
  }

  #one<R>(text: string, values: Value[] = []): R {
    return this.#db.query(text, values).rows[0] as R
  }
}
