/** The only thread of this node that writes to a PostgreSQL database. */
import { workerData } from 'node:worker_threads'
import { armCrashPoint } from '../../watch/crash-points.ts'
import { type Connection, kyselyWith } from '../connection.ts'
import { eventsRecorded } from '../events.ts'
import { methodsOf, refOf } from '../nouns.ts'
import type { Db } from '../schema.ts'
import { StorageRefused } from '../engine/failures.ts'
import { createGroupCommit, gatheringOn } from '../engine/group-commit.ts'
import { serve } from '../engine/thread.ts'
import type { PostgresTarget } from './client.ts'
import { PostgresConnection, emptyLists, engineParts } from './connection.ts'
import { packPostgres } from './failures.ts'
import { migrate } from './migrate.ts'
import type { DatabaseLock } from './server.ts'

/** Calls per commit. */
const MOST_CALLS = 256

type Method = (args: unknown, now: number) => unknown
type Write = (db: Db, args: unknown, now: number) => unknown

/** Methods that differ on this engine. PostgreSQL reuses free pages by itself. */
const OWN = new Map<string, Method>([['shrink', () => 0]])

serve(() => {
  const { target, lock, dataDir, migrations } = workerData as {
    target: PostgresTarget
    lock: DatabaseLock
    dataDir: string | undefined
    migrations: string | undefined
  }
  // The main thread checked whether crash points are allowed when the storage was opened.
  if (dataDir !== undefined) armCrashPoint(process.env, dataDir)
  const db = open(target, lock, migrations)
  const kysely = kyselyWith(
    db,
    {
      ...engineParts,
      execute({ sql, parameters }) {
        const { rows, changes } = db.query(sql, parameters)
        return { rows, numAffectedRows: BigInt(changes) }
      },
    },
    [emptyLists],
  )
  const hot = methodsOf<(on: Connection) => Method>('prepared')
  const writes = methodsOf<Write>('writes')
  const gathering = gatheringOn(db)
  const methods = new Map<string, Method>([
    ...hot.map(({ name, run }) => [name, OWN.get(name) ?? run(db)] as const),
    ...[...writes, ...methodsOf<Write>('innerWrites')].map(({ name, run }) => {
      const method: Method = (args, now) => {
        // Other methods may read the numbers that hot methods have gathered.
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
    methods: [...hot, ...writes].map(refOf),
    async execute(calls) {
      const before = eventsRecorded()
      const batch = await execute(calls)
      return { ...batch, told: eventsRecorded() !== before }
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
    throw error instanceof StorageRefused ? error : new StorageRefused(packPostgres(error).message)
  }
}
