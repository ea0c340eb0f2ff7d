/** Kysely's dialect for PostgreSQL. */
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

/** Replaces empty lists, which are a syntax error in PostgreSQL. */
export const emptyLists = new HandleEmptyInListsPlugin({ strategy: replaceWithNoncontingentExpression })
