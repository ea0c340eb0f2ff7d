/** The connection that plain statements run on: what the hot methods need of an engine. better-sqlite3's own connection is one. */
import { PostgresAdapter } from 'kysely'
import type { Db } from './schema.ts'

/** A prepared statement. Values stand for `?` in their order, or are one object, whose keys stand for `@name`. */
export interface Statement<P extends unknown[], R> {
  run(...values: P): { changes: number }
  get(...values: P): R | undefined
  all(...values: P): R[]
  /** The same statement, which returns the first column of each row alone. */
  pluck(): Statement<P, R>
}

export interface Connection {
  /** Absent on SQLite. */
  readonly engine?: 'postgres'
  readonly inTransaction: boolean
  prepare<P extends unknown[] | object = unknown[], R = unknown>(
    text: string,
  ): P extends unknown[] ? Statement<P, R> : Statement<[P], R>
}

/** Whether statements run on PostgreSQL, for the few that have a text for each engine. */
export const isPostgres = (db: Connection | Db): boolean =>
  'prepare' in db ? db.engine === 'postgres' : db.getExecutor().adapter instanceof PostgresAdapter
