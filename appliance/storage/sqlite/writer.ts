/** The only thread that writes to the database. */
import { dirname } from 'node:path'
import { workerData } from 'node:worker_threads'
import { armCrashPoint, crashPoint } from '../../watch/crash-points.ts'
import { eventsRecorded } from '../events.ts'
import { methodsOf, refOf } from '../nouns.ts'
import type { Db } from '../schema.ts'
import { type Connection, openWriter, refuseDamaged } from './connection.ts'
import { kyselyOn } from './dialect.ts'
import { createGroupCommit, gatheringOn } from '../engine/group-commit.ts'
import { applyMigrations, missing, shippedMigrations, snapshotBefore } from './migrate.ts'
import { serve } from '../engine/thread.ts'

/** Calls per commit. 256 messages of 10 KB are about 3 MB of log. */
const MOST_CALLS = 256

type Method = (args: unknown, now: number) => unknown
type Write = (db: Db, args: unknown, now: number) => unknown

serve(() => {
  const { file } = workerData as { file: string }
  // The main thread checked whether crash points are allowed when the storage was opened.
  armCrashPoint(process.env, dirname(file))
  refuseDamaged(file)
  const db = openWriter(file)
  const migrations = shippedMigrations()
  // By the machine's clock, as the file system's own times are. Only used for the file name.
  snapshotBefore(db, missing(db, migrations), Date.now())
  applyMigrations(db, migrations)
  const kysely = kyselyOn(db)
  const hot = methodsOf<(on: Connection) => Method>('prepared')
  const writes = methodsOf<Write>('writes')
  const gathering = gatheringOn(db)
  const methods = new Map<string, Method>([
    ...hot.map(({ name, run }) => [name, run(db)] as const),
    ...[...writes, ...methodsOf<Write>('innerWrites')].map(({ name, run }) => {
      const method: Method = (args, now) => {
        // Other methods may read the numbers that hot methods have gathered.
        gathering.write()
        return run(kysely, args, now)
      }
      return [name, method] as const
    }),
  ])
  const execute = createGroupCommit(db, (call) => {
    const method = methods.get(call.method)
    if (!method) throw new Error(`The storage has no method ${call.method} that writes.`)
    return method(call.args, call.now)
  })
  return {
    most: MOST_CALLS,
    methods: [...hot, ...writes].map(refOf),
    async execute(calls) {
      const before = eventsRecorded()
      const batch = await execute(calls)
      return { ...batch, told: eventsRecorded() !== before }
    },
    close() {
      // Don't wait: another process that reads or writes now will checkpoint itself.
      db.pragma('busy_timeout = 0')
      crashPoint('checkpoint')
      db.pragma('wal_checkpoint(truncate)')
      db.close()
    },
  }
})
