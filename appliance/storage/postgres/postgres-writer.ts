/** The only thread of this node that writes to a PostgreSQL database. */
import { workerData } from 'node:worker_threads'
import { armCrashPoint } from '../../watch/crash-points.ts'
import { type Connection, createKysely } from '../connection.ts'
import { getRecordedEventCount } from '../events.ts'
import { listMethods, toMethodRef } from '../nouns.ts'
import type { Db } from '../schema.ts'
import { StorageRefused } from '../engine/failures.ts'
import { createGroupCommit, getPendingCounters } from '../engine/group-commit.ts'
import { runThread } from '../engine/thread.ts'
import type { PostgresTarget } from './client.ts'
import { PostgresConnection, emptyListPlugin, engineParts } from './connection.ts'
import { toPostgresFailure } from './failures.ts'
import { migrate } from './migrate.ts'
import type { DatabaseLock } from './server.ts'

/** Maximum number of calls per commit. */
const MOST_CALLS = 256

type Method = (args: unknown, now: number) => unknown
type Write = (db: Db, args: unknown, now: number) => unknown

/** Methods that differ on this engine. PostgreSQL reuses free pages by itself, so `shrink` does nothing. */
const OWN = new Map<string, Method>([['shrink', () => 0]])

runThread(() => {
  const { target, lock, dataDir, migrations } = workerData as {
    target: PostgresTarget
    lock: DatabaseLock
    dataDir: string | undefined
    migrations: string | undefined
  }
  // The main thread has already checked whether crash points are allowed, when the storage was opened.
  if (dataDir !== undefined) armCrashPoint(process.env, dataDir)
  const db = open(target, lock, migrations)
  const kysely = createKysely(
    db,
    {
      ...engineParts,
      execute({ sql, parameters }) {
        const { rows, changes } = db.query(sql, parameters)
        return { rows, numAffectedRows: BigInt(changes) }
      },
    },
    [emptyListPlugin],
  )
  const hot = listMethods<(on: Connection) => Method>('prepared')
  const writes = listMethods<Write>('writes')
  const gathering = getPendingCounters(db)
  const methods = new Map<string, Method>([
    ...hot.map(({ name, run }) => [name, OWN.get(name) ?? run(db)] as const),
    ...[...writes, ...listMethods<Write>('innerWrites')].map(({ name, run }) => {
      const method: Method = (args, now) => {
        // Write the counts gathered by performance-critical methods first, because other methods may read them.
        gathering.write()
        return run(kysely, args, now)
      }
      return [name, method] as const
    }),
  ])
  const execute = createGroupCommit(
    db,
    (call) => {
      const method = methods.get(call.method)
      if (!method) throw new Error(`The storage has no method ${call.method} that writes.`)
      return method(call.args, call.now)
    },
    db.rules,
  )
  return {
    most: MOST_CALLS,
    methods: [...hot, ...writes].map(toMethodRef),
    async execute(calls) {
      const before = getRecordedEventCount()
      const batch = await execute(calls)
      return { ...batch, told: getRecordedEventCount() !== before }
    },
    close: () => db.close(),
  }
})

/**
 * Connects and updates the schema.
 * @throws StorageRefused
 */
function open(target: PostgresTarget, lock: DatabaseLock, folder: string | undefined): PostgresConnection {
  const db = new PostgresConnection(target, lock)
  try {
    migrate(db, { folder, node: typeof lock === 'object' ? lock.node : undefined })
    db.readReferences()
    return db
  } catch (error) {
    db.close()
    throw error instanceof StorageRefused ? error : new StorageRefused(toPostgresFailure(error).message)
  }
}
