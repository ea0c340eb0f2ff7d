/** The thread that reads from PostgreSQL. Runs several calls at once, each in a transaction with its own snapshot. */
import { Kysely } from 'kysely'
import { workerData } from 'node:worker_threads'
import { methodsOf, refOf } from '../nouns.ts'
import type { Db, Tables } from '../schema.ts'
import type { Call, Outcome } from '../engine/group-commit.ts'
import { serve } from '../engine/thread.ts'
import { type Client, connect, type PostgresTarget } from './client.ts'
import { emptyLists, engineParts } from './connection.ts'
import { packPostgres } from './failures.ts'
import { readServer } from './server.ts'

/** Number of connections, and of concurrent calls. */
const MOST_CALLS = 4

/** The method of this engine that reads facts about the server. */
const SERVER = 'databaseServer'

type Read = (db: Db, args: unknown, now: number) => Promise<unknown>

/** A connection that is opened when needed, and again after it was lost. */
class Session {
  readonly #target: PostgresTarget
  readonly #kysely: Db
  #client: Client | undefined

  constructor(target: PostgresTarget) {
    this.#target = target
    this.#kysely = new Kysely<Tables>({
      plugins: [emptyLists],
      dialect: {
        ...engineParts,
        createDriver: () => ({
          init: async () => undefined,
          acquireConnection: async () => ({
            executeQuery: async <R>({
              sql,
              parameters,
            }: {
              sql: string
              parameters: readonly unknown[]
            }) => ({
              rows: (await this.#client!.query(sql, [...parameters])).rows as R[],
            }),
            streamQuery(): never {
              throw new Error('Storage methods do not stream: a page has a limit.')
            },
          }),
          releaseConnection: async () => undefined,
          beginTransaction: async () => undefined,
          commitTransaction: async () => undefined,
          rollbackTransaction: async () => undefined,
          destroy: async () => undefined,
        }),
      },
    })
  }

  async run(read: Read, args: unknown, now: number): Promise<unknown> {
    const client = await this.#connected()
    await client.query('begin isolation level repeatable read read only')
    try {
      return await read(this.#kysely, args, now)
    } finally {
      // A lost connection has no transaction to end.
      if (!client.lost) await client.query('commit')
    }
  }

  async server(): Promise<Awaited<ReturnType<typeof readServer>>> {
    return readServer(await this.#connected())
  }

  async #connected(): Promise<Client> {
    if (this.#client?.lost !== false) this.#client = await connect(this.#target)
    return this.#client
  }

  async close(): Promise<void> {
    await this.#client?.end()
  }
}

serve(() => {
  const { target } = workerData as { target: PostgresTarget }
  const reads = methodsOf<Read>('reads')
  const methods = new Map([...reads, ...methodsOf<Read>('innerReads')].map(({ name, run }) => [name, run]))
  const sessions = Array.from({ length: MOST_CALLS }, () => new Session(target))
  const one = async ({ id, method, args, now }: Call, session: Session): Promise<Outcome> => {
    try {
      if (method === SERVER) return { id, value: await session.server() }
      const read = methods.get(method)
      if (!read) throw new Error(`The storage has no method ${method} that reads.`)
      return { id, value: await session.run(read, args, now) }
    } catch (error) {
      return { id, failure: packPostgres(error) }
    }
  }
  return {
    most: MOST_CALLS,
    methods: reads.map(refOf),
    async execute(calls) {
      const outcomes = await Promise.all(calls.map((call, at) => one(call, sessions[at]!)))
      return { outcomes, committed: false }
    },
    close: () => void Promise.all(sessions.map((session) => session.close())),
  }
})
