/** The file that says that the mail of a data directory was moved to PostgreSQL, or is being moved. */
import { existsSync, readFileSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Actor } from '../../mail/audit.ts'
import { StorageRefused } from '../engine/failures.ts'
import { giveToOwnerOf, syncDirectory } from '../sqlite/directory.ts'

const MARKER = 'moved.json'

/** A move. Times are Unix milliseconds. */
export interface Move {
  id: string
  /** Host and name of the target database. */
  database: string
  startedAt: number
  /** When the move finished; null until all rows are copied and compared. */
  finishedAt: number | null
}

/** Options of a move. */
export interface MoveCall {
  /** Who moves it, for the audit log. */
  by: Actor
  /** Whether to check and count only. */
  dryRun: boolean
  /** Called after each batch. */
  onProgress: (step: { table: string; rows: number; of: number; phase: 'copy' | 'compare' }) => void
}

/** The result of a move, or of its preview. */
export interface MoveResult {
  moveId: string
  /** Whether an earlier call had begun it. */
  resumed: boolean
  /** SHA-256 of all rows in hex, the same on both engines; null in a preview. */
  tables: { name: string; rows: number; sha256: string | null }[]
  /** Deliveries put on hold, and broadcasts paused. */
  held: { deliveries: number; broadcasts: number }
  /** Texts in which U+0000 was replaced, because PostgreSQL can't store it. */
  replaced: number
}

/** Reads the marker of a data directory; undefined if nothing was moved. */
export function readMove(dataDir: string): Move | undefined {
  const file = join(dataDir, MARKER)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Move) : undefined
}

/** Writes the marker, replacing an older one. Resolves once it is durable. */
export async function writeMove(dataDir: string, move: Move): Promise<void> {
  const path = join(dataDir, MARKER)
  const temporary = `${path}.tmp`
  const file = await open(temporary, 'w', 0o600)
  try {
    await file.writeFile(`${JSON.stringify(move, null, 2)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await giveToOwnerOf(dataDir, temporary)
  await rename(temporary, path)
  await syncDirectory(dataDir)
}

/**
 * Refuses a SQLite database whose mail is in PostgreSQL, or on its way there. Sending from both would send mail twice.
 * @throws StorageRefused
 */
export function refuseMoved(dataDir: string): void {
  const move = readMove(dataDir)
  if (!move) return
  const file = join(dataDir, MARKER)
  throw new StorageRefused(
    move.finishedAt === null
      ? `The mail of ${dataDir} is being moved to ${move.database}. Run posthaste migrate-storage again to finish. To stay on SQLite, delete ${file} and the other database.`
      : `The mail of ${dataDir} was moved to ${move.database} on ${new Date(move.finishedAt).toISOString().slice(0, 10)}. Set storage.engine = "postgres". To return to the state before the move, delete ${file}: mail sent since then may be sent again.`,
  )
}

/** Refuses to start a second move. @throws StorageRefused */
export function refuseOtherMove(dataDir: string, move: Move, database: string): void {
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
