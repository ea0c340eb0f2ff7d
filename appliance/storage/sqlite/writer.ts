/** The one thread that writes to the database. */
import { dirname } from 'node:path'
import { workerData } from 'node:worker_threads'
import { armCrashPoint, crashPoint } from '../../watch/crash-points.ts'
import { partsThatWrite, writes } from '../methods/methods.ts'
import { createComplain } from './complain.ts'
import { openWriter } from './connection.ts'
import { kyselyOn } from './dialect.ts'
import { createShrink } from './disk-use.ts'
import { createGroupCommit } from './group-commit.ts'
import { refuseDamaged } from './integrity.ts'
import { createLease } from './lease.ts'
import { applyMigrations, missing, shippedMigrations } from './migrate.ts'
import { createPut } from './put.ts'
import { createPutReport } from './put-report.ts'
import { createRecordHit } from './record-hit.ts'
import { createSaveLogs } from './save-logs.ts'
import { serve } from './serve.ts'
import { createSettle } from './settle.ts'
import { snapshotBefore } from './snapshots.ts'
import {
  createFanOut,
  createKeepPing,
  createLeaseWebhooks,
  createReplayEvents,
  createSettleWebhook,
} from './webhooks.ts'

/** Calls in one commit; 256 messages of 10 KB are some 3 MB of log. */
const MOST_CALLS = 256

type Method = (args: never, now: number) => unknown

serve(() => {
  const { file } = workerData as { file: string }
  // Whether it may be armed was asked when the storage was opened, on the main thread.
  armCrashPoint(process.env, dirname(file))
  refuseDamaged(file)
  const db = openWriter(file)
  const migrations = shippedMigrations()
  // By the machine's clock, as the file system's own times are: it only names the file.
  snapshotBefore(db, missing(db, migrations), Date.now())
  applyMigrations(db, migrations)
  const kysely = kyselyOn(db)
  const methods = new Map<string, Method>([
    ['put', createPut(db)],
    ['putReport', createPutReport(db)],
    ['lease', createLease(db)],
    ['settle', createSettle(db)],
    ['complain', createComplain(db)],
    ['recordHit', createRecordHit(db)],
    ['saveLogs', createSaveLogs(db)],
    ['shrink', createShrink(db)],
    ['fanOutWebhooks', createFanOut(db)],
    ['leaseWebhookDeliveries', createLeaseWebhooks(db)],
    ['settleWebhookAttempt', createSettleWebhook(db)],
    ['keepWebhookPing', createKeepPing(db)],
    ['replayWebhookEvents', createReplayEvents(db)],
  ])
  for (const [name, method] of Object.entries({ ...writes, ...partsThatWrite })) {
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
      crashPoint('checkpoint')
      db.pragma('wal_checkpoint(truncate)')
      db.close()
    },
  }
})
