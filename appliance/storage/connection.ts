/**
 * The database connection of an engine: for plain statements, with those parts of better-sqlite3's interface that
 * performance-critical methods need, and for Kysely.
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

/**
 * A prepared statement. Parameters are a value for each `?` in order, or one object whose keys are the names in
 * `@name`.
 */
export interface Statement<P extends unknown[], R> {
  run(...values: P): { changes: number }
  get(...values: P): R | undefined
  all(...values: P): R[]
  /** Returns the same statement, but with only the first column of each row. */
  pluck(): Statement<P, R>
}

export interface Connection {
  /** Undefined on SQLite. */
  readonly engine?: 'postgres'
  readonly inTransaction: boolean
  prepare<P extends unknown[] | object = unknown[], R = unknown>(
    text: string,
  ): P extends unknown[] ? Statement<P, R> : Statement<[P], R>
}

/** Whether statements run on PostgreSQL, for the few that differ between engines. */
export const isPostgres = (db: Connection | Db): boolean =>
  'prepare' in db ? db.engine === 'postgres' : db.getExecutor().adapter instanceof PostgresAdapter

/** The connection of each Kysely instance, and the objects that `getPrepared` created on it. */
const connections = new WeakMap<Db, { db: Connection; prepared: Map<unknown, unknown> }>()

/**
 * Returns the result of `create` for the underlying connection. Calls `create` only once. For Kysely methods that use
 * prepared statements of performance-critical methods.
 */
export function getPrepared<T>(kysely: Db, create: (db: Connection) => T): T {
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
 * Creates a Kysely instance on a connection whose transactions the caller manages. Every query resolves within
 * microtasks, so a method that awaits only queries finishes before the next message is handled.
 */
export function createKysely(db: Connection, engine: Engine, plugins: KyselyPlugin[]): Db {
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
