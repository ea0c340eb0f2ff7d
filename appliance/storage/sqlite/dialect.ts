import type { Statement } from 'better-sqlite3'
import {
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type CompiledQuery,
  type DatabaseConnection,
  type KyselyPlugin,
  type QueryResult,
} from 'kysely'
import type { Db, Tables } from '../schema.ts'
import type { Connection } from './connection.ts'

/** Lists of parameters make texts of many lengths: the cache of statements must end somewhere. */
const MOST_STATEMENTS = 500

/** What is known of a Kysely: its connection, and what was prepared on it. */
const connections = new WeakMap<Db, { db: Connection; prepared: Map<unknown, unknown> }>()

/** What `create` makes of the connection beneath, made once: for methods in Kysely that need what hot methods have prepared. */
export function preparedOn<T>(kysely: Db, create: (db: Connection) => T): T {
  const known = connections.get(kysely)
  if (!known) throw new Error('This Kysely stands on no connection of ours.')
  const { db, prepared } = known
  if (!prepared.has(create)) prepared.set(create, create(db))
  return prepared.get(create) as T
}

/**
 * Kysely on a connection whose transactions belong to somebody else. Every query is answered within microtasks, so
 * that a method that awaits only queries finishes before any other message is looked at. Statements are prepared once.
 */
export function kyselyOn(db: Connection, plugins: KyselyPlugin[] = []): Db {
  const kysely = create(db, plugins)
  connections.set(kysely, { db, prepared: new Map() })
  return kysely
}

function create(db: Connection, plugins: KyselyPlugin[]): Db {
  const connection = new OwnedConnection(db)
  const notOurs = (): never => {
    throw new Error('A storage method is a transaction already; it cannot begin one.')
  }
  return new Kysely<Tables>({
    plugins,
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createIntrospector: (kysely) => new SqliteIntrospector(kysely),
      createQueryCompiler: () => new SqliteQueryCompiler(),
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
}

class OwnedConnection implements DatabaseConnection {
  readonly #db: Connection
  readonly #statements = new Map<string, Statement>()

  constructor(db: Connection) {
    this.#db = db
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const statement = this.#prepare(sql)
    if (statement.reader) return { rows: statement.all(parameters) as R[] }
    return { rows: [], numAffectedRows: BigInt(statement.run(parameters).changes) }
  }

  streamQuery(): never {
    throw new Error('Storage methods do not stream: a page has a limit.')
  }

  #prepare(sql: string): Statement {
    const known = this.#statements.get(sql)
    if (known) return known
    if (this.#statements.size === MOST_STATEMENTS) this.#statements.clear()
    const statement = this.#db.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }
}
