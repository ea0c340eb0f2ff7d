/** The thread that reads, so that a slow list never delays accepting an email. */
import { workerData } from 'node:worker_threads'
import { methodsOf, refOf } from '../nouns.ts'
import type { Db } from '../schema.ts'
import { openReader } from './connection.ts'
import { kyselyOn } from './dialect.ts'
import { pack } from '../engine/failures.ts'
import { serve } from '../engine/thread.ts'

type Read = (db: Db, args: unknown, now: number) => Promise<unknown>

serve(() => {
  const { file } = workerData as { file: string }
  const db = openReader(file)
  const kysely = kyselyOn(db)
  const reads = methodsOf<Read>('reads')
  const methods = new Map([...reads, ...methodsOf<Read>('innerReads')].map(({ name, run }) => [name, run]))
  const begin = db.prepare('begin')
  const end = db.prepare('commit')
  return {
    // One at a time: the transaction begins after the call was made, so it sees every write that was answered before.
    most: 1,
    methods: reads.map(refOf),
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
        return { outcomes: [{ id, failure: pack(error) }], committed: false }
      } finally {
        if (db.inTransaction) end.run()
      }
    },
    close: () => void db.close(),
  }
})
