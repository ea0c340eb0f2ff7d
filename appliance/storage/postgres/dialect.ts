/** How Kysely writes for PostgreSQL. */
import {
  HandleEmptyInListsPlugin,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  replaceWithNoncontingentExpression,
} from 'kysely'
import type { Engine } from '../sqlite/dialect.ts'

export const engineParts: Omit<Engine, 'execute'> = {
  createAdapter: () => new PostgresAdapter(),
  createIntrospector: (kysely) => new PostgresIntrospector(kysely),
  createQueryCompiler: () => new PostgresQueryCompiler(),
}

/** An empty list is no SQL for PostgreSQL. */
export const emptyLists = new HandleEmptyInListsPlugin({ strategy: replaceWithNoncontingentExpression })
