/**
 * The database connection for plain statements, with the part of better-sqlite3's interface that the hot methods need.
 */
import { PostgresAdapter } from 'kysely'
import type { Db } from './schema.ts'

/** A prepared statement. Parameters are values for each `?` in order, or one object whose keys stand for `@name`. */
export interface Statement<P extends unknown[], R> {
  run(...values: P): { changes: number }
  get(...values: P): R | undefined
  all(...values: P): R[]
  /** Returns the same statement, but with only the first column of each row. */
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

/** Reports whether statements run on PostgreSQL, for the few that differ between engines. */
export const isPostgres = (db: Connection | Db): boolean =>
  'prepare' in db ? db.engine === 'postgres' : db.getExecutor().adapter instanceof PostgresAdapter
