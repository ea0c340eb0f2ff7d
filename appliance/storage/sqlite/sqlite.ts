import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { assembleStorage, createReadOnlyStorage, type EngineStorage, type StorageLog } from '../assembly.ts'
import { type LargeMessageStore, MessageFiles } from '../bodies.ts'
import { DATABASE_FILE, makeDirectory, makePrivateFile, RESTORE_FOLDER } from './directory.ts'
import { type StorageLost, StorageRefused } from '../engine/failures.ts'
import { refuseMovedDatabase } from '../move/marker.ts'
import { openReader, refuseMissingDatabase } from './connection.ts'
import { findMissingMigrations, shippedMigrations } from './migrate.ts'
import { Thread } from '../engine/thread.ts'
import type { ReadOnlyStorage } from '../storage.ts'

export { StorageLost, StorageRefused } from '../engine/failures.ts'
export { transferOwnership, lockDataDir, makeDirectory } from './directory.ts'
export { createBackupArchive } from '../backup/backup.ts'
export { appendEntry } from '../backup/copy.ts'
export { restore } from '../backup/restore.ts'
export type { EngineStorage as SqliteStorage } from '../assembly.ts'
export type { Decryption, Encryption } from '../backup/archive.ts'
export { newestSchema, listSnapshots } from './migrate.ts'
export { sqliteSealing } from './sealing.ts'

/** Whether there is a database. Opening the storage would create one. */
export function hasDatabase(dataDir: string): boolean {
  try {
    const [directory, file] = [dataDir, join(dataDir, DATABASE_FILE)].map((path) =>
      statSync(path, { throwIfNoEntry: false }),
    )
    // If the path isn't a directory, opening it reports the problem.
    return file !== undefined || (directory !== undefined && !directory.isDirectory())
  } catch {
    return true // There is something that cannot be looked at: opening it says what is wrong.
  }
}

export interface SqliteOptions {
  dataDir: string
  logger?: StorageLog | undefined
  /**
   * Called once if a storage thread stops unexpectedly. No call works after that, so the daemon should exit and be
   * restarted.
   */
  onLost?: ((error: StorageLost) => void) | undefined
  /** Called after each commit that stored events. */
  onEvents?: (() => void) | undefined
  /** Where to store large messages. By default, they are files in the data directory, which backups include. */
  bodies?: LargeMessageStore | undefined
}

/**
 * Opens the database of a data directory. Creates both if they are missing, and updates the schema. The event loop
 * never waits for the disk: one thread writes, another reads.
 * @throws StorageRefused if the database is damaged, belongs to another program, is newer than this program or isn't
 * accessible; it is never replaced
 */
export async function openSqlite(options: SqliteOptions): Promise<EngineStorage> {
  const { dataDir } = options
  await makeDirectory(dataDir)
  if (existsSync(join(dataDir, RESTORE_FOLDER)))
    throw new StorageRefused(
      `A restore into ${dataDir} is still running or was interrupted. Wait for it to finish, or run posthaste restore again.`,
    )
  refuseMovedDatabase(dataDir)
  refuseMissingDatabase(dataDir)
  const file = await makePrivateFile(dataDir, DATABASE_FILE)
  let told = false
  const onLost = (error: StorageLost): void => {
    if (told) return
    told = true
    options.logger?.error({ err: error }, 'storage thread died')
    options.onLost?.(error)
  }
  const start = (name: 'writer' | 'reader') =>
    Thread.start({
      name: `storage ${name}`,
      script: new URL(`./${name}.ts`, import.meta.url),
      data: { file },
      onLost,
      onEvents: options.onEvents,
    })
  const writer = await start('writer')
  try {
    const reader = await start('reader')
    const bodies = options.bodies ?? new MessageFiles(dataDir)
    await bodies.begin()
    return assembleStorage({ writer, reader, bodies, logger: options.logger })
  } catch (error) {
    await writer.close()
    throw error
  }
}

/**
 * Opens the database of a data directory for reading, with or without a running daemon. Creates and updates nothing.
 * @throws StorageRefused if the database is missing, damaged, belongs to another program or has another schema than
 * this program's
 */
export async function openSqliteReader(dataDir: string): Promise<ReadOnlyStorage> {
  const file = join(dataDir, DATABASE_FILE)
  refuseMovedDatabase(dataDir)
  refuseMissingDatabase(dataDir)
  refuseOutdated(file)
  const reader = await Thread.start({
    name: 'storage reader',
    script: new URL('./reader.ts', import.meta.url),
    data: { file },
    // Nothing to do: pending calls are rejected.
    onLost: () => undefined,
  })
  return createReadOnlyStorage(reader)
}

function refuseOutdated(file: string): void {
  const db = openReader(file)
  try {
    if (findMissingMigrations(db, shippedMigrations()).length > 0)
      throw new StorageRefused(
        `The database ${file} was made by an older version. Start the server, or run: posthaste migrate`,
      )
  } finally {
    db.close()
  }
}
