/**
 * Moves the mail of a SQLite database to an empty PostgreSQL database, completely or not at all, with the queue on
 * hold.
 */
import { newId } from '../../mail/ids.ts'
import { StorageRefused } from '../engine/failures.ts'
import { toPostgresFailure, PostgresError } from '../postgres/failures.ts'
import type { PostgresTarget } from '../postgres/client.ts'
import { lockDataDir } from '../sqlite/directory.ts'
import {
  type Move,
  type StorageMoveOptions,
  type MoveResult,
  readMove,
  refuseSecondMove,
  writeMove,
} from './marker.ts'
import { computeRowDigest, RowDigest, type Value } from './rows.ts'
import type { Source, Target } from './parts.ts'
import { MoveSource } from './source.ts'
import type { TableToMove } from './tables.ts'
import { MoveTarget } from './target.ts'

interface MoveOptions extends StorageMoveOptions {
  dataDir: string
  target: PostgresTarget
  /** Host and database name of the target, for people. */
  database: string
}

/**
 * Moves everything, in batches. After an interruption, call it again to continue after the last batch. No daemon starts on
 * either database until the move has finished.
 * @throws StorageRefused with the reason
 */
export async function moveToPostgres(options: MoveOptions, now: number): Promise<MoveResult> {
  const lock = await lockDataDir(options.dataDir)
  try {
    const known = readMove(options.dataDir)
    if (known) refuseSecondMove(options.dataDir, known, options.database)
    const source = new MoveSource(options.dataDir)
    const target = new MoveTarget(options.target)
    try {
      const move = known ?? { id: newId(now), database: options.database, startedAt: now, finishedAt: null }
      const mark = (state: Move): Promise<void> => writeMove(options.dataDir, state)
      const isResumed = known !== undefined
      const parts = { ...options, engine: 'PostgreSQL', source, target, move, mark, resumed: isResumed }
      return await moveAll(parts, now)
    } finally {
      target.close()
      source.close()
    }
  } catch (error) {
    if (!(error instanceof PostgresError)) throw error
    throw new StorageRefused(
      `${toPostgresFailure(error).message} The copied data is kept. Run the command again to continue.`,
    )
  } finally {
    lock.release()
  }
}

/** A move between two databases, of either engine. */
interface Parts extends Omit<MoveOptions, 'target'> {
  /** The engine of the target, for people. */
  engine: string
  source: Source
  target: Target
  move: Move
  resumed: boolean
  /** Records the move where both databases are kept from other processes. Resolves once it is durable. */
  mark: (move: Move) => Promise<void>
}

/** Copies and compares all tables, or continues. @throws StorageRefused with the reason */
export async function moveAll(parts: Parts, now: number): Promise<MoveResult> {
  const { source, target, move, dryRun, resumed, mark } = parts
  // An earlier call may have committed the last step before it was interrupted.
  const ended = resumed && target.hasEnded(move)
  const begun = ended || isBegun(parts)
  const counts = source.tables.map((table) => source.count(table, move))
  const held = source.countHeld()
  const done = (digests: (string | null)[]): MoveResult => ({
    moveId: move.id,
    resumed,
    held,
    replaced: source.replaced,
    tables: source.tables.map(({ name }, at) => ({ name, rows: counts[at]!, sha256: digests[at]! })),
  })
  if (dryRun) return done(counts.map(() => null))
  if (!resumed) await mark(move)
  if (!begun) target.begin(source.tables, move)
  if (!ended) for (const [at, table] of source.tables.entries()) copy(parts, table, counts[at]!)
  source.replaced = 0
  // If the move had already ended, a daemon may have changed the rows since.
  const digests = ended
    ? counts.map(() => null)
    : source.tables.map((table, at) => compare(parts, table, counts[at]!))
  if (!ended) target.end(source.tables, source.sequences(), entriesOf(parts, held.deliveries, now))
  await mark({ ...move, finishedAt: now })
  return done(digests)
}

/**
 * Whether this move has begun to fill the target.
 * @throws StorageRefused if the target isn't empty
 */
function isBegun({ target, move, database, resumed }: Parts): boolean {
  const state = target.state()
  if (state.kind === 'move' && state.id === move.id && resumed) return true
  if (state.kind === 'move')
    throw new StorageRefused(
      `${database} has an unfinished move of another data directory. Nothing was changed. Create an empty database.`,
    )
  if (state.kind === 'used')
    throw new StorageRefused(
      `${database} is not empty: its table ${state.table} has rows. Nothing was changed. Create an empty database.`,
    )
  return false
}

function copy({ source, target, move, onProgress }: Parts, table: TableToMove, of: number): void {
  const { after, ...progress } = target.progress(table)
  let { rows } = progress
  for (const batch of source.batches(table, move, after)) {
    target.store(table, batch)
    rows += batch.rows.length
    onProgress({ table: table.name, rows, of, phase: 'copy' })
  }
}

/**
 * Compares every row of a table. Returns the digest of all rows.
 * @throws StorageRefused if a row differs
 */
function compare(
  { source, target, move, database, onProgress }: Parts,
  table: TableToMove,
  of: number,
): string {
  const [here, there] = [new RowDigest(), new RowDigest()]
  let rows = 0
  for (const batch of source.batches(table, move)) {
    const found = target.range(table, batch, batch.rows.length + 1)
    here.add(batch.rows)
    there.add(found)
    if (here.hex() !== there.hex()) {
      const at = batch.rows.findIndex(
        (row, place) => computeRowDigest(row) !== computeRowDigest(found[place]),
      )
      throw differs(table, database, `row ${rows + (at < 0 ? batch.rows.length : at) + 1} by its key`)
    }
    rows += batch.rows.length
    onProgress({ table: table.name, rows, of, phase: 'compare' })
  }
  const count = target.count(table)
  if (count !== rows) throw differs(table, database, `${rows} rows here, ${count} there`)
  return here.hex()
}

const differs = ({ name }: TableToMove, database: string, what: string): StorageRefused =>
  new StorageRefused(
    `The table ${name} differs in ${database}: ${what}. The source is as it was. Create an empty database, and start over.`,
  )

/** Returns the audit entries of a move: one for the hold, which can be undone, and one for the move itself. */
function entriesOf(
  { move, by, dataDir, database, engine }: Parts,
  held: number,
  now: number,
): Record<string, Value>[] {
  const entry = { team_id: null, at: now, ip: null, target_name: null, actor_name: null, before: null }
  return [
    {
      ...entry,
      id: move.id,
      actor: 'migrate-storage',
      actor_kind: 'system',
      action: 'queue.hold',
      target: 'queue',
      after: JSON.stringify({ count: held }),
      details: JSON.stringify({ filter: {}, reason: `the storage was moved to ${engine}` }),
    },
    {
      ...entry,
      id: newId(now),
      actor: by.name,
      actor_kind: by.kind,
      action: 'storage.move',
      target: 'storage',
      after: JSON.stringify({ held }),
      details: JSON.stringify({ command: 'migrate-storage', arguments: [database], data_dir: dataDir }),
    },
  ]
}
