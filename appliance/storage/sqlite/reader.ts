/** The thread that reads, so that a slow list never delays the acceptance of an email. */
import { workerData } from 'node:worker_threads'
import { listMethods, toMethodRef } from '../nouns.ts'
import type { Db } from '../schema.ts'
import { openReader } from './connection.ts'
import { createSqliteKysely } from './dialect.ts'
import { toFailure } from '../engine/failures.ts'
import { runThread } from '../engine/thread.ts'

type Read = (db: Db, args: unknown, now: number) => Promise<unknown>

runThread(() => {
  const { file } = workerData as { file: string }
  const db = openReader(file)
  const kysely = createSqliteKysely(db)
  const reads = listMethods<Read>('reads')
  const methods = new Map([...reads, ...listMethods<Read>('innerReads')].map(({ name, run }) => [name, run]))
  const begin = db.prepare('begin')
  const end = db.prepare('commit')
  return {
    // One call at a time: the transaction begins after the call was made, so it sees every write that was completed
    // before.
    most: 1,
    methods: reads.map(toMethodRef),
    async execute(calls) {
      const [call] = calls
      if (!call) return { outcomes: [], committed: false }
      const { id, args, now } = call
      begin.run()
      try {
        const method = methods.get(call.method)
        if (!method) throw new Error(`The storage has no method ${call.method} that reads.`)
        return { outcomes: [{ id, value: await method(kysely, args, now) }], committed: false }
      } catch (error) {
        return { outcomes: [{ id, failure: toFailure(error) }], committed: false }
      } finally {
        if (db.inTransaction) end.run()
      }
    },
    close: () => void db.close(),
  }
})
