/**
 * The database connection of an engine: for plain statements, with the part of better-sqlite3's interface that the hot
 * methods need, and for Kysely.
 */
import {
  Kysely,
  PostgresAdapter,
  type CompiledQuery,
  type Dialect,
  type KyselyPlugin,
  type QueryResult,
} from 'kysely'
import type { Db, Tables } from './schema.ts'

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

/** The connection of each Kysely instance, and the objects created on it by `preparedOn`. */
const connections = new WeakMap<Db, { db: Connection; prepared: Map<unknown, unknown> }>()

/**
 * Returns the result of `create` for the underlying connection, and calls it only once. For Kysely methods that need
 * prepared statements of hot methods.
 */
export function preparedOn<T>(kysely: Db, create: (db: Connection) => T): T {
  const known = connections.get(kysely)
  if (!known) throw new Error('This Kysely stands on no connection of ours.')
  const { db, prepared } = known
  if (!prepared.has(create)) prepared.set(create, create(db))
  return prepared.get(create) as T
}

/** An engine's part of Kysely: its SQL dialect, and how to run a statement synchronously. */
export interface Engine extends Omit<Dialect, 'createDriver'> {
  execute(query: CompiledQuery): QueryResult<unknown>
}

/**
 * Creates a Kysely instance on a connection whose transactions someone else manages. Every query resolves within
 * microtasks, so a method that awaits only queries finishes before the next message is handled.
 */
export function kyselyWith(db: Connection, engine: Engine, plugins: KyselyPlugin[]): Db {
  const connection = {
    executeQuery: async <R>(query: CompiledQuery) => engine.execute(query) as QueryResult<R>,
    streamQuery(): never {
      throw new Error('Storage methods do not stream: a page has a limit.')
    },
  }
  const notOurs = (): never => {
    throw new Error('A storage method is a transaction already; it cannot begin one.')
  }
  const kysely: Db = new Kysely<Tables>({
    plugins,
    dialect: {
      createAdapter: () => engine.createAdapter(),
      createIntrospector: (on) => engine.createIntrospector(on),
      createQueryCompiler: () => engine.createQueryCompiler(),
      createDriver: () => ({
        init: async () => undefined,
        acquireConnection: async () => connection,
        releaseConnection: async () => undefined,
        beginTransaction: notOurs,
        commitTransaction: notOurs,
        rollbackTransaction: notOurs,
        destroy: async () => undefined,
      }),
    },
  })
  connections.set(kysely, { db, prepared: new Map() })
  return kysely
}
