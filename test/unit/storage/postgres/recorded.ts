import {
  HandleEmptyInListsPlugin,
  type KyselyPlugin,
  PostgresQueryCompiler,
  replaceWithNoncontingentExpression,
} from 'kysely'
import { listMethods } from '../../../../appliance/storage/nouns.ts'
import type { Db } from '../../../../appliance/storage/schema.ts'
import type { Connection } from '../../../../appliance/storage/sqlite/connection.ts'
import { createSqliteKysely } from '../../../../appliance/storage/sqlite/dialect.ts'
import { StorageFailure } from '../../../../appliance/storage/engine/failures.ts'
import { createGroupCommit } from '../../../../appliance/storage/engine/group-commit.ts'
import type { Storage } from '../../../../appliance/storage/storage.ts'
import { replaceNul } from '../../../../appliance/storage/text.ts'
import { openMemory } from '../waiting.ts'

/** A statement that Kysely wrote for PostgreSQL, its values, and its result. */
export interface Recorded {
  sql: string
  parameters: readonly unknown[]
  rows: readonly Record<string, unknown>[]
  /** Returns the contents of the statement's tables by name. Must be called at once or never. */
  tables: () => Map<string, unknown[]>
}

export interface Recorder {
  statement(recorded: Recorded): void
  method(name: string): void
}

type Method = (db: Db, args: unknown, now: number) => unknown
type Prepared = (db: Connection) => (args: unknown, now: number) => unknown
interface Body {
  message: Uint8Array
}

/** Reports every statement that a method in Kysely runs. */
function recordTo(recorder: Recorder, db: Connection): KyselyPlugin {
  const compiler = new PostgresQueryCompiler()
  // PostgreSQL doesn't accept empty lists.
  const lists = new HandleEmptyInListsPlugin({ strategy: replaceWithNoncontingentExpression })
  const tables = db
    .prepare<[], string>(`select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'`)
    .pluck()
    .all()
  const running = new WeakMap<object, Pick<Recorded, 'sql' | 'parameters'>>()
  return {
    transformQuery(args) {
      const node = lists.transformQuery(args)
      running.set(args.queryId, compiler.compileQuery(node, args.queryId))
      return args.node
    },
    async transformResult({ queryId, result }) {
      const { sql, parameters } = running.get(queryId)!
      recorder.statement({
        sql,
        parameters,
        rows: result.rows,
        tables: () => {
          const named = tables.filter((name) => new RegExp(`\\b${name}\\b`).test(sql))
          return new Map(named.map((name) => [name, db.prepare(`select * from "${name}"`).all()]))
        },
      })
      return result
    },
  }
}

/** Keeps the message in its row, however large. */
const inRow = <T extends Body>({ message, ...email }: T) => ({
  ...email,
  body: message,
  size: message.length,
})

/** Opens the storage on in-memory SQLite, without threads or files, and reports every statement of Kysely. */
export function openRecorded(recorder: Recorder): Storage {
  const db = openMemory()
  db.pragma('foreign_keys = on')
  const kysely = createSqliteKysely(db, [recordTo(recorder, db)])
  const on = (run: Method) => (args: unknown, now: number) => run(kysely, args, now)
  const runs = new Map([
    ...listMethods<Prepared>('prepared').map(({ name, run }) => [name, run(db)] as const),
    ...(['reads', 'writes', 'innerReads', 'innerWrites'] as const).flatMap((kind) =>
      listMethods<Method>(kind).map(({ name, run }) => [name, on(run)] as const),
    ),
  ])
  const execute = createGroupCommit(db, ({ method, args, now }) => runs.get(method)!(args, now))
  let last: Promise<unknown> = Promise.resolve()
  const call = (method: string) => {
    return async (args: unknown, now: number): Promise<unknown> => {
      recorder.method(method)
      // Plain data, as for a thread.
      const given = replaceNul(structuredClone(args))
      const batch = last.then(() => execute([{ id: 1, method, args: given, now }]))
      last = batch
      const [outcome] = (await batch).outcomes
      if ('failure' in outcome!) throw new StorageFailure(outcome.failure)
      return structuredClone(outcome!.value)
    }
  }
  const methods = Object.fromEntries([...runs.keys()].map((name) => [name, call(name)]))
  const withoutFiles = (method: string) => async (args: unknown, now: number) => {
    const { files: _, ...purged } = (await methods[method]!(args, now)) as { files: string[] }
    return purged
  }
  const completed = {
    ...methods,
    put: ({ emails, ...rest }: { emails: Body[] }, now: number) =>
      methods.put!({ ...rest, emails: emails.map(inRow) }, now),
    putReport: ({ report, ...rest }: { report: Body }, now: number) =>
      methods.putReport!({ ...rest, email: inRow(report) }, now),
    getMessage: methods.messageBody,
    keepReceivedEmails: (
      { emails, limits }: { emails: { bytes: Uint8Array }[]; limits: object },
      now: number,
    ) => {
      const stored = emails.map(({ bytes, ...email }) => ({ ...email, body: bytes }))
      return methods.keepReceivedEmails!({ emails: stored, limits }, now)
    },
    getReceivedSource: methods.receivedBody,
    purgeReceived: async (args: unknown, now: number) =>
      ((await methods.purgeReceived!(args, now)) as { count: number }).count,
    purgeBodies: withoutFiles('purgeBodies'),
    purgeUnkeptBodies: withoutFiles('purgeUnkeptBodies'),
    purgeEmails: withoutFiles('purgeEmails'),
    eraseStep: async (args: unknown, now: number) =>
      ((await methods.eraseStep!(args, now)) as { erasure: unknown } | undefined)?.erasure,
    close: async () => void db.close(),
  }
  return completed as unknown as Storage
}
