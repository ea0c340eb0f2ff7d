/** The thread that reads from PostgreSQL. Runs several calls at once, each in a transaction with its own snapshot. */
import { workerData } from 'node:worker_threads'
import { listMethods, toMethodRef } from '../nouns.ts'
import type { Db } from '../schema.ts'
import type { Call, CallResult } from '../engine/group-commit.ts'
import { runThread } from '../engine/thread.ts'
import type { PostgresTarget } from './client.ts'
import { toPostgresFailure } from './failures.ts'
import { loadServerFacts } from './server.ts'
import { Session } from './session.ts'

/** Number of connections, and of concurrent calls. */
const MOST_CALLS = 4

/** The method of this engine that reads information about the server. */
const SERVER = 'databaseServer'

/** Methods that run for each email and consist of one statement. */
const ALONE = new Set([
  'findApiKey',
  'findDomain',
  'getApiKey',
  'getDomain',
  'getEmail',
  'messageBody',
  'planOf',
  'signingKeys',
])

type Read = (db: Db, args: unknown, now: number) => Promise<unknown>

/** Begins a transaction in which all reads see the same state of the database. */
const BEGIN = 'begin isolation level repeatable read read only'

runThread(() => {
  const { target } = workerData as { target: PostgresTarget }
  const reads = listMethods<Read>('reads')
  const methods = new Map([...reads, ...listMethods<Read>('innerReads')].map(({ name, run }) => [name, run]))
  const sessions = Array.from({ length: MOST_CALLS }, () => new Session(target, BEGIN))
  const one = async ({ id, method, args, now }: Call, session: Session): Promise<CallResult> => {
    try {
      if (method === SERVER) return { id, value: await session.use(loadServerFacts) }
      const read = methods.get(method)
      if (!read) throw new Error(`The storage has no method ${method} that reads.`)
      const run = (on: Db) => read(on, args, now)
      return { id, value: await (ALONE.has(method) ? session.runAlone(run) : session.run(run)) }
    } catch (error) {
      return { id, failure: toPostgresFailure(error) }
    }
  }
  return {
    most: MOST_CALLS,
    methods: reads.map(toMethodRef),
    async execute(calls) {
      const outcomes = await Promise.all(calls.map((call, at) => one(call, sessions[at]!)))
      return { outcomes, committed: false }
    },
    close: () => void Promise.all(sessions.map((session) => session.close())),
  }
})
