import type { Statement } from 'better-sqlite3'
import {
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type CompiledQuery,
  type Dialect,
  type KyselyPlugin,
  type QueryResult,
} from 'kysely'
import type { Connection as AnyConnection } from '../connection.ts'
import type { Db, Tables } from '../schema.ts'
import type { Connection } from './connection.ts'

/** Limit on cached statements. Lists of parameters produce many different texts. */
const MOST_STATEMENTS = 500

/** The connection of a Kysely instance, and what was prepared on it. */
const connections = new WeakMap<Db, { db: AnyConnection; prepared: Map<unknown, unknown> }>()

/**
 * Returns what `create` made of the underlying connection, created once. For Kysely methods that need what hot methods
 * have prepared.
 */
export function preparedOn<T>(kysely: Db, create: (db: AnyConnection) => T): T {
  const known = connections.get(kysely)
  if (!known) throw new Error('This Kysely stands on no connection of ours.')
  const { db, prepared } = known
  if (!prepared.has(create)) prepared.set(create, create(db))
  return prepared.get(create) as T
}

/** What an engine supplies to Kysely: how statements are written, and how to run one synchronously. */
export interface Engine extends Omit<Dialect, 'createDriver'> {
  execute(query: CompiledQuery): QueryResult<unknown>
}

/**
 * Creates a Kysely instance on a connection whose transactions someone else manages. Every query resolves within
 * microtasks, so a method that awaits only queries finishes before the next message is handled.
 */
export function kyselyWith(db: AnyConnection, engine: Engine, plugins: KyselyPlugin[]): Db {
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

/** `kyselyWith` on SQLite. Statements are prepared once. */
export function kyselyOn(db: Connection, plugins: KyselyPlugin[] = []): Db {
  const statements = new Map<string, Statement>()
  const prepare = (sql: string): Statement => {
    const known = statements.get(sql)
    if (known) return known
    if (statements.size === MOST_STATEMENTS) statements.clear()
    const statement = db.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
  return kyselyWith(
    db,
    {
      createAdapter: () => new SqliteAdapter(),
      createIntrospector: (kysely) => new SqliteIntrospector(kysely),
      createQueryCompiler: () => new SqliteQueryCompiler(),
      execute({ sql, parameters }) {
        const statement = prepare(sql)
        if (statement.reader) return { rows: statement.all(parameters) }
        return { rows: [], numAffectedRows: BigInt(statement.run(parameters).changes) }
      },
    },
    plugins,
  )
}
