/** Operations on all secrets of a PostgreSQL database. They block this thread until the server responds. */
import { countSecrets, resealAll, getSealing, SECRET_TABLES } from '../sealing.ts'
import type { SealingStorage } from '../secrets.ts'
import { StorageRefused } from '../engine/failures.ts'
import type { PostgresTarget } from './client.ts'
import { PostgresConnection } from './connection.ts'
import type { DatabaseLock } from './server.ts'
import { isConflict, toPostgresFailure, PostgresError } from './failures.ts'

/**
 * Returns the operations on one database. They ignore their data directory arguments. Close the connection afterwards.
 * @param lock `alone` to refuse a database that a daemon uses
 * @throws StorageRefused from each operation
 */
export function createPostgresSealing(
  target: PostgresTarget,
  lock?: DatabaseLock,
): SealingStorage & { close(): void } {
  const db = new PostgresConnection(target, lock)
  return {
    readSealing: () => refusing(() => getSealing(db)),
    reseal: (args, now) =>
      refusing(() => {
        db.prepare('begin isolation level serializable').run()
        try {
          const done = resealAll(db, args, now)
          db.prepare('commit').run()
          return done
        } catch (error) {
          if (db.inTransaction) db.prepare('rollback').run()
          // Another process changed the key at the same time.
          if (isConflict(error)) return false
          throw error
        }
      }),
    cleanSecrets: (_dataDir, now) =>
      refusing(() => {
        // Rewrites the files of the tables. They are small.
        for (const table of SECRET_TABLES) db.script(`vacuum full ${table}`)
        db.prepare('update master_key set cleaned_at = ?').run(now)
      }),
    countSecrets: () => refusing(() => (getSealing(db) ? countSecrets(db) : [])),
    close: () => db.close(),
  }
}

function refusing<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw error instanceof PostgresError ? new StorageRefused(toPostgresFailure(error).message) : error
  }
}
