import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { assemble, readOnly, type EngineStorage, type StorageLog } from '../assembly.ts'
import { type Bodies, MessageFiles } from '../bodies.ts'
import { DATABASE, makeDirectory, makePrivateFile, RESTORING } from './directory.ts'
import { type StorageLost, StorageRefused } from '../engine/failures.ts'
import { refuseMoved } from '../move/marker.ts'
import { openReader, refuseVanished } from './connection.ts'
import { missing, shippedMigrations } from './migrate.ts'
import { Thread } from '../engine/thread.ts'
import type { ReadOnlyStorage } from '../storage.ts'

export { StorageLost, StorageRefused } from '../engine/failures.ts'
export { giveToOwnerOf, lockDataDir, makeDirectory } from './directory.ts'
export { backUp } from '../backup/backup.ts'
export { appendEntry } from '../backup/copy.ts'
export { restore } from '../backup/restore.ts'
export type { EngineStorage as SqliteStorage } from '../assembly.ts'
export type { Decryption, Encryption } from '../backup/archive.ts'
export { newestSchema, listSnapshots } from './migrate.ts'
export { sqliteSealing } from './sealing.ts'

/** Reports whether there is a database. Opening the storage would create one. */
export function hasDatabase(dataDir: string): boolean {
  try {
    const [directory, file] = [dataDir, join(dataDir, DATABASE)].map((path) =>
      statSync(path, { throwIfNoEntry: false }),
    )
    // Something else has the name of the directory. Opening it reports the problem.
    return file !== undefined || (directory !== undefined && !directory.isDirectory())
  } catch {
    return true // There is something that cannot be looked at: opening it says what is wrong.
  }
}

export interface SqliteOptions {
  dataDir: string
  logger?: StorageLog | undefined
  /** Called once if a storage thread dies. No call works after that, so the daemon should exit and be restarted. */
  onLost?: ((error: StorageLost) => void) | undefined
  /** Called after each commit that stored events. */
  onEvents?: (() => void) | undefined
  /** Where to store large messages. Default: files of the data directory, which backups include. */
  bodies?: Bodies | undefined
}

/**
 * Opens the database of a data directory, creates both if they are missing, and updates the schema. The event loop
 * never waits for the disk: one thread writes, another reads.
 * @throws StorageRefused when the database is damaged, foreign, newer than the program or not accessible; it is never
 * replaced
 */
export async function openSqlite(options: SqliteOptions): Promise<EngineStorage> {
  const { dataDir } = options
  await makeDirectory(dataDir)
  if (existsSync(join(dataDir, RESTORING)))
    throw new StorageRefused(
      `A restore into ${dataDir} is still running or was interrupted. Wait for it to finish, or run posthaste restore again.`,
    )
  refuseMoved(dataDir)
  refuseVanished(dataDir)
  const file = await makePrivateFile(dataDir, DATABASE)
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
    return assemble({ writer, reader, bodies, logger: options.logger })
  } catch (error) {
    await writer.close()
    throw error
  }
}

/**
 * Opens the database of a data directory for reading, with or without a running daemon. Creates and updates nothing.
 * @throws StorageRefused when the database is missing, damaged, foreign, or not of this program's schema
 */
export async function readSqlite(dataDir: string): Promise<ReadOnlyStorage> {
  const file = join(dataDir, DATABASE)
  refuseMoved(dataDir)
  refuseVanished(dataDir)
  refuseOutdated(file)
  const reader = await Thread.start({
    name: 'storage reader',
    script: new URL('./reader.ts', import.meta.url),
    data: { file },
    // Pending calls fail by themselves.
    onLost: () => undefined,
  })
  return readOnly(reader)
}

function refuseOutdated(file: string): void {
  const db = openReader(file)
  try {
    if (missing(db, shippedMigrations()).length > 0)
      throw new StorageRefused(
        `The database ${file} was made by an older version. Start the server, or run: posthaste migrate`,
      )
  } finally {
    db.close()
  }
}
