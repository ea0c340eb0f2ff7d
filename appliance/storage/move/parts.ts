/** What a move needs of the database that it reads and of the one that it fills, on either engine. */
import { crashPoint } from '../../watch/crash-points.ts'
import type { Move } from './marker.ts'
import type { Batch, Row, Value } from './rows.ts'
import type { TableToMove } from './tables.ts'

/** State of the database to fill. `move`: it has an unfinished move. */
export type TargetState =
  { kind: 'new' | 'empty' } | { kind: 'used'; table: string } | { kind: 'move'; id: string }

/** The database that is moved. Nothing else writes to it meanwhile. */
export interface Source {
  readonly tables: readonly TableToMove[]
  /** Number of texts read so far in which U+0000 was replaced. */
  replaced: number
  /** Counts the rows that a table will have after the move. */
  count(table: TableToMove, move: Move): number
  /** Counts the deliveries and broadcasts that the move puts on hold. */
  countHeld(): { deliveries: number; broadcasts: number }
  /** Returns the highest number that each table with numbered rows has assigned, including numbers of deleted rows. */
  sequences(): { table: string; last: number }[]
  /**
   * Reads a table in the order of its key.
   * @param after the key of the last row to skip
   */
  batches(table: TableToMove, move: Move, after?: Row): Iterable<Batch>
  close(): void
}

/** The database that is filled. It stores the progress, so that a move can continue after a crash. */
export interface Target {
  /** Reads the state of the database without changing it. @throws StorageRefused if it belongs to another program */
  state(): TargetState
  /** Whether a move has ended here. Its audit entry is added by the last step. */
  hasEnded(move: Move): boolean
  /** Creates the schema, and disables triggers, because the moved rows are already complete. */
  begin(tables: readonly TableToMove[], move: Move): void
  /** Returns how much of a table has been stored. */
  progress(table: TableToMove): { rows: number; after: Row | undefined }
  /** Stores a batch and the progress in one transaction. */
  store(table: TableToMove, batch: Batch): void
  /** Reads the rows of a range of keys, including both ends, at most `most`. */
  range(table: TableToMove, batch: Batch, most: number): Row[]
  count(table: TableToMove): number
  /**
   * Ends the move: lets row numbers continue after the last one, enables triggers again, and adds `log` to the audit
   * log.
   */
  end(
    tables: readonly TableToMove[],
    sequences: readonly { table: string; last: number }[],
    log: readonly Record<string, Value>[],
  ): void
  close(): void
}

/** Tables that have rows in a new database: from the schema, or from a command that opened it. */
export const SEEDED = ['migrations', 'secrets', 'nodes', 'cursors', 'master_key', 'duties']

/** Marks the crash point of a move, on either engine: rows are copied, but not committed. */
export const passUncommittedRows = (): void => crashPoint('storage-move')

/** Number of rows to read at once, and maximum bytes per batch. A single row with a message may be larger. */
export const PAGE = 500
const BATCH_BYTES = 4 * 1024 * 1024

/** Splits rows into batches of limited size. */
export function* cut(table: TableToMove, page: Iterable<Row>, sizeOf: (row: Row) => number): Iterable<Batch> {
  let rows: Row[] = []
  let size = 0
  for (const row of page) {
    rows.push(row)
    size += sizeOf(row)
    if (size < BATCH_BYTES) continue
    yield batchOf(table, rows)
    rows = []
    size = 0
  }
  if (rows.length > 0) yield batchOf(table, rows)
}

function batchOf({ columns, key }: TableToMove, rows: Row[]): Batch {
  const keyOf = (row: Row): Row => key.map((column) => row[columns.indexOf(column)]!)
  return { rows, first: keyOf(rows[0]!), last: keyOf(rows.at(-1)!) }
}

/** Returns the named parameters of a table's query. @param after the key of the last row to skip */
export const parameters = ({ id, startedAt }: Move, after: Row = []): Record<string, Value> => ({
  move: id,
  at: startedAt,
  ...Object.fromEntries(after.map((value, at) => [`key${at}`, value])),
})

/** Returns the condition for rows after a key in named parameters. */
export const afterKey = (key: readonly string[], names: string): string =>
  `where (${names}) > (${key.map((_, at) => `@key${at}`).join(', ')})`
