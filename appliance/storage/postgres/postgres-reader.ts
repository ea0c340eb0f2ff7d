/** The thread that reads from PostgreSQL. Runs several calls at once, each in a transaction with its own snapshot. */
import { workerData } from 'node:worker_threads'
import { methodsOf, refOf } from '../nouns.ts'
import type { Db } from '../schema.ts'
import type { Call, Outcome } from '../engine/group-commit.ts'
import { serve } from '../engine/thread.ts'
import type { PostgresTarget } from './client.ts'
import { packPostgres } from './failures.ts'
import { readServer } from './server.ts'
import { Session } from './session.ts'

/** Number of connections, and of concurrent calls. */
const MOST_CALLS = 4

/** The method of this engine that reads facts about the server. */
const SERVER = 'databaseServer'

type Read = (db: Db, args: unknown, now: number) => Promise<unknown>

/** Every read sees one state of the database. */
const BEGIN = 'begin isolation level repeatable read read only'

serve(() => {
  const { target } = workerData as { target: PostgresTarget }
  const reads = methodsOf<Read>('reads')
  const methods = new Map([...reads, ...methodsOf<Read>('innerReads')].map(({ name, run }) => [name, run]))
  const sessions = Array.from({ length: MOST_CALLS }, () => new Session(target, BEGIN))
  const one = async ({ id, method, args, now }: Call, session: Session): Promise<Outcome> => {
    try {
      if (method === SERVER) return { id, value: await session.use(readServer) }
      const read = methods.get(method)
      if (!read) throw new Error(`The storage has no method ${method} that reads.`)
      return { id, value: await session.run((on) => read(on, args, now)) }
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
