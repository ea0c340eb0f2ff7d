import type { Statement } from 'better-sqlite3'
import { SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler, type KyselyPlugin } from 'kysely'
import { createKysely } from '../connection.ts'
import type { Db } from '../schema.ts'
import type { Connection } from './connection.ts'

/** Limit on cached statements. Lists of parameters produce many different texts. */
const MOST_STATEMENTS = 500

/** Creates a Kysely instance for SQLite. Statements are prepared once. */
export function createSqliteKysely(db: Connection, plugins: KyselyPlugin[] = []): Db {
  const statements = new Map<string, Statement>()
  const prepare = (sql: string): Statement => {
    const known = statements.get(sql)
    if (known) return known
    if (statements.size === MOST_STATEMENTS) statements.clear()
    const statement = db.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
  return createKysely(
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
