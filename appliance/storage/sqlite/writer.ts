/** The one thread that writes to the database. */
import { workerData } from 'node:worker_threads'
import { writes } from '../methods/methods.ts'
import { openWriter } from './connection.ts'
import { kyselyOn } from './dialect.ts'
import { createGroupCommit } from './group-commit.ts'
import { createLease } from './lease.ts'
import { applyMigrations, shippedMigrations } from './migrate.ts'
import { createPut } from './put.ts'
import { createPutReport } from './put-report.ts'
import { createSaveLogs } from './save-logs.ts'
import { serve } from './serve.ts'
import { createSettle } from './settle.ts'

/** Calls in one commit; 256 messages of 10 KB are some 3 MB of log. */
const MOST_CALLS = 256

type Method = (args: never, now: number) => unknown

serve(() => {
  const { file } = workerData as { file: string }
  const db = openWriter(file)
  applyMigrations(db, shippedMigrations())
  const kysely = kyselyOn(db)
  const methods = new Map<string, Method>([
    ['put', createPut(db)],
    ['putReport', createPutReport(db)],
    ['lease', createLease(db)],
    ['settle', createSettle(db)],
    ['saveLogs', createSaveLogs(db)],
  ])
  for (const [name, method] of Object.entries(writes)) {
    const run = method as (on: typeof kysely, args: never, now: number) => unknown
    methods.set(name, (args, now) => run(kysely, args, now))
  }
  const execute = createGroupCommit(db, (call) => {
    const method = methods.get(call.method)
    if (!method) throw new Error(`The storage has no method ${call.method} that writes.`)
    return method(call.args as never, call.now)
  })
  return {
    most: MOST_CALLS,
    execute,
    close() {
      // Without waiting: another process that reads or writes at this moment will checkpoint itself.
      db.pragma('busy_timeout = 0')
      db.pragma('wal_checkpoint(truncate)')
      db.close()
    },
  }
})
