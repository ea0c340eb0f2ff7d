/** The storage on a PostgreSQL server, with the same threads and methods as on SQLite. */
import { assembleStorage, createReadOnlyStorage, type EngineStorage, type StorageLog } from '../assembly.ts'
import { type LargeMessageStore, noBodies } from '../bodies.ts'
import type { DatabaseServer, ReadOnlyStorage } from '../storage.ts'
import { StorageFailure, StorageRefused, type StorageLost } from '../engine/failures.ts'
import { Thread } from '../engine/thread.ts'
import { methods as nodes } from '../nodes.ts'
import type { PostgresTarget } from './client.ts'
import { toPostgresFailure } from './failures.ts'
import { awaitMigration, newestPostgresSchema, refuseOutdated } from './migrate.ts'
import type { DatabaseLock } from './server.ts'
import { Session } from './session.ts'

export { moveToSqlite } from '../move/back.ts'
export { moveToPostgres } from '../move/move.ts'
export { createPostgresSealing } from './sealing.ts'
export { newestPostgresSchema } from './migrate.ts'
export type { StorageLog } from '../assembly.ts'
export type { PostgresTarget } from './client.ts'

export interface PostgresOptions extends PostgresTarget {
  /** Which other processes may use the database at the same time. Refuses it if others than these use it. */
  lock?: DatabaseLock
  /**
   * The data directory, for crash points, which work only in a directory that crashtest created. By default, none is armed.
   */
  dataDir?: string | undefined
  /** Folder with the migrations of another version of the program, for tests. */
  migrations?: string | undefined
  logger?: StorageLog | undefined
  /**
   * Called once if a storage thread stops unexpectedly. No call works after that. An unreachable server doesn't end a
   * thread.
   */
  onLost?: ((error: StorageLost) => void) | undefined
  /** Called after each commit that stored events. */
  onEvents?: (() => void) | undefined
  /** Where to store large messages. By default, all messages are in the database. */
  bodies?: LargeMessageStore | undefined
}

/**
 * Opens a PostgreSQL database and updates its schema. While the server is unreachable, calls fail as `transient`; they work
 * again once it responds.
 * @throws StorageRefused if the server can't be reached or could lose mail, or if the database belongs to another program
 * or is locked
 */
export async function openPostgres(options: PostgresOptions): Promise<EngineStorage> {
  const { url, others, tls, lock, dataDir, migrations, logger, onEvents, bodies = noBodies } = options
  const target: PostgresTarget = { url, others, tls }
  let told = false
  const onLost = (error: StorageLost): void => {
    if (told) return
    told = true
    logger?.error({ err: error }, 'storage thread died')
    options.onLost?.(error)
  }
  const start = (name: 'postgres-writer' | 'postgres-reader') =>
    Thread.start({
      name: `storage ${name}`,
      script: new URL(`./${name}.ts`, import.meta.url),
      data: { target, lock, dataDir, migrations },
      onLost,
      onEvents,
    })
  const writer = await start('postgres-writer')
  try {
    const reader = await start('postgres-reader')
    const databaseServer = async (): Promise<DatabaseServer> => {
      const begun = performance.now()
      const server = await reader.call<Omit<DatabaseServer, 'respondedIn'>>('databaseServer', {}, 0)
      return { ...server, respondedIn: Math.round(performance.now() - begun) }
    }
    await bodies.begin()
    const storage = assembleStorage({ writer, reader, bodies, logger, databaseServer })
    return withHeartbeat(storage, new Session(target, 'begin'), newestPostgresSchema(migrations))
  } catch (error) {
    await writer.close()
    throw error
  }
}

/**
 * Adds a separate connection for the heartbeat, which must not wait for writes: on a busy server, this node would be
 * fenced, and others would send its mail again, which makes the server busier. Its transactions aren't serializable,
 * because heartbeats of several nodes would conflict.
 *
 * A node of an older version neither joins nor stays when the schema has become too new for it.
 */
function withHeartbeat(storage: EngineStorage, session: Session, schema: number): EngineStorage {
  let last: Promise<unknown> = Promise.resolve()
  return {
    ...storage,
    async joinNode(args, now) {
      const at = await storage.joinNode(args, now)
      try {
        // A process that migrates now may not have seen this node.
        await session.run(async (db) => {
          await awaitMigration(db)
          await refuseOutdated(db, schema)
        })
      } catch (error) {
        await storage.stopNode(args, now)
        throw error
      }
      return at
    },
    renewNode(args) {
      const renewed = last.then(() =>
        session.run(async (db) => {
          await refuseOutdated(db, schema)
          return nodes.writes.renewNode(db, args)
        }),
      )
      last = renewed.catch(() => undefined)
      return renewed.catch((error: unknown) => {
        throw error instanceof StorageRefused ? error : new StorageFailure(toPostgresFailure(error))
      })
    },
    async close() {
      await storage.close()
      await last
      await session.close()
    },
  }
}

/**
 * Opens a database for reading only. Doesn't update its schema.
 * @throws StorageRefused if it can't be reached
 */
export async function openPostgresReader({ url, others, tls }: PostgresTarget): Promise<ReadOnlyStorage> {
  const reader = await Thread.start({
    name: 'storage reader',
    script: new URL('./postgres-reader.ts', import.meta.url),
    data: { target: { url, others, tls } },
    // Nothing to do: pending calls are rejected.
    onLost: () => undefined,
  })
  return createReadOnlyStorage(reader)
}
