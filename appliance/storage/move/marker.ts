/** The files that mark a data directory whose mail was moved to PostgreSQL, or is being moved in either direction. */
import { existsSync, readFileSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Actor } from '../../mail/audit.ts'
import { StorageRefused } from '../engine/failures.ts'
import { transferOwnership, syncDirectory } from '../sqlite/directory.ts'

const MARKER = 'moved.json'
/** Marks a directory whose SQLite database is being filled from PostgreSQL. */
const ARRIVING = 'arriving.json'

/** A move from one engine to the other. Times are Unix milliseconds. */
export interface Move {
  id: string
  /** Host and name of the target database; the data directory on the way back to SQLite. */
  database: string
  startedAt: number
  /** When the move finished; null until all rows are copied and compared. */
  finishedAt: number | null
}

/** Options of a move. */
export interface StorageMoveOptions {
  /** Who runs the move, for the audit log. */
  by: Actor
  /** Whether to only check and count. */
  dryRun: boolean
  /** Called after each batch. */
  onProgress: (step: { table: string; rows: number; of: number; phase: 'copy' | 'compare' }) => void
}

/** The result of a move, or of its preview. */
export interface MoveResult {
  moveId: string
  /** Whether an earlier call had begun the move. */
  resumed: boolean
  /**
   * SHA-256 of all rows in hex, which is the same on both engines; null in a preview, or if the move had already ended.
   */
  tables: { name: string; rows: number; sha256: string | null }[]
  /** Number of deliveries put on hold, and of broadcasts paused. */
  held: { deliveries: number; broadcasts: number }
  /** Number of texts in which U+0000 was replaced, because PostgreSQL can't store it. */
  replaced: number
}

/** Reads the marker of a data directory; undefined if its mail wasn't moved. */
export function readMove(dataDir: string): Move | undefined {
  const file = join(dataDir, MARKER)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Move) : undefined
}

/** Writes the marker, replacing an older one. Resolves once it is durable. */
export const writeMove = (dataDir: string, move: Move): Promise<void> => write(dataDir, MARKER, move)

/** Marks the data directory as being filled; removes the mark of a move that has finished. */
export async function markArriving(dataDir: string, move: Move): Promise<void> {
  if (move.finishedAt === null) return write(dataDir, ARRIVING, move)
  await rm(join(dataDir, ARRIVING), { force: true })
  await syncDirectory(dataDir)
}

async function write(dataDir: string, name: string, move: Move): Promise<void> {
  const path = join(dataDir, name)
  const temporary = `${path}.tmp`
  const file = await open(temporary, 'w', 0o600)
  try {
    await file.writeFile(`${JSON.stringify(move, null, 2)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await transferOwnership(dataDir, temporary)
  await rename(temporary, path)
  await syncDirectory(dataDir)
}

/**
 * Refuses a SQLite database whose mail is in PostgreSQL, on its way there, or on its way back. Sending from both would
 * send mail twice.
 * @throws StorageRefused
 */
export function refuseMovedDatabase(dataDir: string): void {
  if (existsSync(join(dataDir, ARRIVING)))
    throw new StorageRefused(
      `Mail is being moved from PostgreSQL to ${dataDir}. Run posthaste migrate-storage again to finish. To stay on PostgreSQL, delete ${join(dataDir, ARRIVING)} and posthaste.db, and drop the table moved_away of that database.`,
    )
  const move = readMove(dataDir)
  if (!move) return
  const file = join(dataDir, MARKER)
  throw new StorageRefused(
    move.finishedAt === null
      ? `The mail of ${dataDir} is being moved to ${move.database}. Run posthaste migrate-storage again to finish. To stay on SQLite, delete ${file} and the other database.`
      : `The mail of ${dataDir} was moved to ${move.database} on ${new Date(move.finishedAt).toISOString().slice(0, 10)}. Set storage.engine = "postgres". To return to the state before the move, delete ${file}: mail sent since then may be sent again.`,
  )
}

/**
 * Refuses to start a second move.
 * @throws StorageRefused
 */
export function refuseSecondMove(dataDir: string, move: Move, database: string): void {
  const file = join(dataDir, MARKER)
  if (move.finishedAt !== null)
    throw new StorageRefused(
      `The mail of ${dataDir} was already moved to ${move.database}. Nothing was changed. To move it again, delete ${file}.`,
    )
  if (move.database !== database)
    throw new StorageRefused(
      `A move of ${dataDir} to ${move.database} is unfinished. Nothing was changed. Continue with that database, or delete ${file} to start over.`,
    )
}
