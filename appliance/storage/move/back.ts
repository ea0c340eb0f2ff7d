/**
 * Moves the mail of a PostgreSQL database to an empty SQLite database, completely or not at all, with the queue on
 * hold.
 */
import { newId } from '../../mail/ids.ts'
import { StorageRefused } from '../engine/failures.ts'
import { PostgresError, toPostgresFailure } from '../postgres/failures.ts'
import type { PostgresTarget } from '../postgres/client.ts'
import { lockDataDir, makeDirectory } from '../sqlite/directory.ts'
import { markArriving, type StorageMoveOptions, type MoveResult, readMove } from './marker.ts'
import { moveAll } from './move.ts'
import { PostgresSource } from './postgres-source.ts'
import { readSchema, SqliteTarget } from './sqlite-target.ts'

interface MoveBackOptions extends StorageMoveOptions {
  dataDir: string
  source: PostgresTarget
}

/**
 * Moves everything, in batches. After an interruption, call it again: it continues after the last batch. No daemon
 * starts on either database until it has finished.
 * @throws StorageRefused with the reason
 */
export async function moveToSqlite(options: MoveBackOptions, now: number): Promise<MoveResult> {
  const { dataDir, dryRun } = options
  await makeDirectory(dataDir)
  const lock = await lockDataDir(dataDir)
  const { tables, triggers } = readSchema()
  const source = new PostgresSource(options.source, tables)
  let target: SqliteTarget | undefined
  try {
    refuseEarlier(dataDir)
    const known = source.move()
    if (known?.finishedAt === null || !known) source.refuseUnsuitable()
    else
      throw new StorageRefused(
        `The mail of storage.url was already moved to ${known.database}. Nothing was changed. Set storage.engine = "sqlite".`,
      )
    if (known && known.database !== dataDir)
      throw new StorageRefused(
        `A move of storage.url to ${known.database} is unfinished. Nothing was changed. Continue with that directory, or drop the table moved_away to start over.`,
      )
    target = new SqliteTarget(dataDir, triggers)
    const move = known ?? { id: newId(now), database: dataDir, startedAt: now, finishedAt: null }
    if (!dryRun) await target.create()
    const isResumed = known !== undefined
    const parts = { ...options, database: dataDir, engine: 'SQLite', source, target, move }
    return await moveAll(
      {
        ...parts,
        resumed: isResumed,
        // First the marker that keeps a daemon from the unfinished target, and last the one that frees it.
        async mark(state) {
          if (state.finishedAt === null) await markArriving(dataDir, state)
          source.mark(state)
          if (state.finishedAt !== null) await markArriving(dataDir, state)
        },
      },
      now,
    )
  } catch (error) {
    if (!(error instanceof PostgresError)) throw error
    throw new StorageRefused(
      `${toPostgresFailure(error).message} The copied data is kept. Run the command again to continue.`,
    )
  } finally {
    target?.close()
    source.close()
    lock.release()
  }
}

/** Refuses a directory whose own mail was moved to PostgreSQL before. @throws StorageRefused */
function refuseEarlier(dataDir: string): void {
  if (!readMove(dataDir)) return
  throw new StorageRefused(
    `${dataDir} still has the database from before its move to PostgreSQL. Nothing was changed. Move posthaste.db, messages and moved.json to another place first.`,
  )
}
