/** The SQLite database that is moved. Nothing else writes to it meanwhile. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { messagePath } from '../bodies.ts'
import { StorageRefused } from '../engine/failures.ts'
import { type Connection, openWriter, refuseDamaged } from '../sqlite/connection.ts'
import { DATABASE } from '../sqlite/directory.ts'
import { missing, shippedMigrations } from '../sqlite/migrate.ts'
import { withoutNul } from '../text.ts'
import type { Move } from './marker.ts'
import { type Batch, type Row, sizeOf, type Value } from './rows.ts'
import { type MovedTable, quoted, tablesOf } from './tables.ts'

/** Rows read at once, and bytes per batch. A single row may be larger: a message. */
const PAGE = 500
const BATCH_BYTES = 4 * 1024 * 1024

export class MoveSource {
  readonly tables: readonly MovedTable[]
  readonly #db: Connection
  readonly #dataDir: string
  /** Number of texts read in which U+0000 was replaced. */
  replaced = 0

  /**
   * Opens the database and keeps others from writing.
   * @throws StorageRefused when it is damaged, in use, or has another schema than this program
   */
  constructor(dataDir: string) {
    const file = join(dataDir, DATABASE)
    refuseDamaged(file)
    this.#dataDir = dataDir
    this.#db = openWriter(file)
    try {
      this.#db.exec('begin immediate')
      refuseOlder(this.#db, dataDir)
      this.tables = tablesOf(this.#db)
    } catch (error) {
      this.#db.close()
      throw error
    }
  }

  /** Counts the rows that a table will have. */
  count({ select }: MovedTable, move: Move): number {
    const text = `select count(*) from (${select})`
    return this.#db.prepare<[object], number>(text).pluck().get(parameters(move))!
  }

  /** Counts the deliveries and broadcasts that the move puts on hold. */
  countHeld(): { deliveries: number; broadcasts: number } {
    const count = (from: string) =>
      this.#db.prepare<[], number>(`select count(*) from ${from}`).pluck().get()!
    return {
      deliveries: count("deliveries where state = 'waiting'"),
      broadcasts: count("broadcasts where status in ('scheduled', 'queued') and paused_at is null"),
    }
  }

  /**
   * Returns the highest number that each table with numbered rows has assigned, including to rows that were deleted.
   */
  sequences(): { table: string; last: number }[] {
    return this.#db
      .prepare<[], { table: string; last: number }>(
        'select name as "table", seq as last from sqlite_sequence where seq > 0',
      )
      .all()
  }

  /**
   * Reads a table in the order of its key.
   * @param after the key of the last row to skip
   * @throws StorageRefused if the file of a message is missing
   */
  *batches(table: MovedTable, move: Move, after?: Row): Iterable<Batch> {
    const key = table.key.map(quoted).join(', ')
    const from = (where: string) =>
      this.#db
        .prepare<[object], Value[]>(`select * from (${table.select}) ${where} order by ${key} limit ${PAGE}`)
        .raw()
    const beginning = from('')
    const next = from(`where (${key}) > (${table.key.map((_, at) => `@key${at}`).join(', ')})`)
    for (let last = after; ;) {
      const page = last ? next.all(parameters(move, last)) : beginning.all(parameters(move))
      for (const batch of this.#cut(table, page)) {
        yield batch
        last = batch.last
      }
      if (page.length < PAGE) return
    }
  }

  close(): void {
    this.#db.exec('rollback')
    this.#db.close()
  }

  /** Completes rows and cuts a page into batches of bounded size. */
  *#cut(table: MovedTable, page: Row[]): Iterable<Batch> {
    let rows: Row[] = []
    let size = 0
    for (const one of page) {
      const row = this.#complete(table, one)
      rows.push(row)
      size += sizeOf(row)
      if (size < BATCH_BYTES) continue
      yield batchOf(table, rows)
      rows = []
      size = 0
    }
    if (rows.length > 0) yield batchOf(table, rows)
  }

  #complete({ columns, fileColumn, key }: MovedTable, row: Row): Row {
    const values = row.map((value, at) => {
      if (value === null && columns[at] === fileColumn)
        return this.#file(row[columns.indexOf(key[0]!)] as string)
      return value
    })
    const cleaned = withoutNul(values)
    for (const [at, value] of cleaned.entries()) if (value !== values[at]) this.replaced++
    return cleaned
  }

  #file(emailId: string): Uint8Array {
    const path = messagePath(this.#dataDir, emailId)
    try {
      return readFileSync(path)
    } catch (error) {
      throw new StorageRefused(
        `The message of email ${emailId} should be in ${path}: ${(error as Error).message}. Restore the file from a backup.`,
      )
    }
  }
}

const parameters = ({ id, startedAt }: Move, after: Row = []): object => ({
  move: id,
  at: startedAt,
  ...Object.fromEntries(after.map((value, at) => [`key${at}`, value])),
})

function batchOf({ columns, key }: MovedTable, rows: Row[]): Batch {
  const keyOf = (row: Row): Row => key.map((column) => row[columns.indexOf(column)]!)
  return { rows, first: keyOf(rows[0]!), last: keyOf(rows.at(-1)!) }
}

function refuseOlder(db: Connection, dataDir: string): void {
  if (missing(db, shippedMigrations()).length > 0)
    throw new StorageRefused(
      `The database in ${dataDir} has an older schema than this program. Nothing was changed. First run: posthaste migrate`,
    )
  if (db.prepare('select 1 from pragma_foreign_key_check limit 1').get() !== undefined)
    throw new StorageRefused(
      `The database in ${dataDir} is damaged: rows refer to rows that are missing. Nothing was changed. Restore the newest backup.`,
    )
}
