/** The only thread that writes to the database. */
import { dirname } from 'node:path'
import { workerData } from 'node:worker_threads'
import { armCrashPoint, crashPoint } from '../../watch/crash-points.ts'
import { getRecordedEventCount } from '../events.ts'
import { listMethods, toMethodRef } from '../nouns.ts'
import type { Db } from '../schema.ts'
import { type Connection, openWriter, refuseDamagedDatabase } from './connection.ts'
import { createSqliteKysely } from './dialect.ts'
import { createGroupCommit, getPendingCounters } from '../engine/group-commit.ts'
import { applyMigrations, findMissingMigrations, shippedMigrations, createSnapshot } from './migrate.ts'
import { runThread } from '../engine/thread.ts'

/** Calls per commit. 256 messages of 10 KB are about 3 MB of log. */
const MOST_CALLS = 256

type Method = (args: unknown, now: number) => unknown
type Write = (db: Db, args: unknown, now: number) => unknown

runThread(() => {
  const { file } = workerData as { file: string }
  // The main thread has already checked whether crash points are allowed, when the storage was opened.
  armCrashPoint(process.env, dirname(file))
  refuseDamagedDatabase(file)
  const db = openWriter(file)
  const migrations = shippedMigrations()
  // Use the machine's clock, as the file system does. The time is only part of the file name.
  createSnapshot(db, findMissingMigrations(db, migrations), Date.now())
  applyMigrations(db, migrations)
  const kysely = createSqliteKysely(db)
  const hot = listMethods<(on: Connection) => Method>('prepared')
  const writes = listMethods<Write>('writes')
  const gathering = getPendingCounters(db)
  const methods = new Map<string, Method>([
    ...hot.map(({ name, run }) => [name, run(db)] as const),
    ...[...writes, ...listMethods<Write>('innerWrites')].map(({ name, run }) => {
      const method: Method = (args, now) => {
        // Write the counts gathered by hot methods first, because other methods may read them.
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
    methods: [...hot, ...writes].map(toMethodRef),
    async execute(calls) {
      const before = getRecordedEventCount()
      const batch = await execute(calls)
      return { ...batch, told: getRecordedEventCount() !== before }
    },
    close() {
      // Don't wait for another process that reads or writes now: it will run the checkpoint itself.
      db.pragma('busy_timeout = 0')
      crashPoint('checkpoint')
      db.pragma('wal_checkpoint(truncate)')
      db.close()
    },
  }
})
