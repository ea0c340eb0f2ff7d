/** The SQLite database that is moved. Nothing else writes to it meanwhile. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { messagePath } from '../bodies.ts'
import { StorageRefused } from '../engine/failures.ts'
import { type Connection, openWriter, refuseDamagedDatabase } from '../sqlite/connection.ts'
import { DATABASE_FILE } from '../sqlite/directory.ts'
import { findMissingMigrations, shippedMigrations } from '../sqlite/migrate.ts'
import { replaceNul } from '../text.ts'
import type { Move } from './marker.ts'
import { afterKey, cut, PAGE, parameters, type Source } from './parts.ts'
import { type Batch, type Row, estimateRowSize, type Value } from './rows.ts'
import { type TableToMove, quoteName, listTables } from './tables.ts'

export class MoveSource implements Source {
  readonly tables: readonly TableToMove[]
  readonly #db: Connection
  readonly #dataDir: string
  /** Number of texts read so far in which U+0000 was replaced. */
  replaced = 0

  /**
   * Opens the database and keeps other processes from writing to it.
   * @throws StorageRefused if it is damaged, in use, or has another schema than this program's
   */
  constructor(dataDir: string) {
    const file = join(dataDir, DATABASE_FILE)
    refuseDamagedDatabase(file)
    this.#dataDir = dataDir
    this.#db = openWriter(file)
    try {
      this.#db.exec('begin immediate')
      refuseOlder(this.#db, dataDir)
      this.tables = listTables(this.#db, { fromFiles: true })
    } catch (error) {
      this.#db.close()
      throw error
    }
  }

  /** Counts the rows that a table will have after the move. */
  count({ select }: TableToMove, move: Move): number {
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

  /** Returns the highest number that each table with numbered rows has assigned, including numbers of deleted rows. */
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
  *batches(table: TableToMove, move: Move, after?: Row): Iterable<Batch> {
    const key = table.key.map(quoteName).join(', ')
    const from = (where: string) =>
      this.#db
        .prepare<[object], Value[]>(`select * from (${table.select}) ${where} order by ${key} limit ${PAGE}`)
        .raw()
    const beginning = from('')
    const next = from(afterKey(table.key, key))
    for (let last = after; ;) {
      const page = last ? next.all(parameters(move, last)) : beginning.all(parameters(move))
      const rows = page.map((row) => this.#complete(table, row))
      for (const batch of cut(table, rows, estimateRowSize)) {
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

  #complete({ columns, fileColumn, key }: TableToMove, row: Row): Row {
    const values = row.map((value, at) => {
      if (value === null && columns[at] === fileColumn)
        return this.#file(row[columns.indexOf(key[0]!)] as string)
      return value
    })
    const cleaned = replaceNul(values)
    for (const [at, value] of cleaned.entries()) if (value !== values[at]) this.replaced++
    return cleaned
  }

  #file(emailId: string): Uint8Array {
    const path = messagePath(this.#dataDir, emailId)
    try {
      return readFileSync(path)
    } catch (error) {
      throw new StorageRefused(
        `The message of email ${emailId} should be in ${path}: ${(error as Error).message}. Restore the file from a backup. If it is in the bucket of [s3], wait until retention has deleted it: migrate-storage moves no messages in a bucket.`,
      )
    }
  }
}

function refuseOlder(db: Connection, dataDir: string): void {
  if (findMissingMigrations(db, shippedMigrations()).length > 0)
    throw new StorageRefused(
      `The database in ${dataDir} has an older schema than this program. Nothing was changed. First run: posthaste migrate`,
    )
  if (db.prepare('select 1 from pragma_foreign_key_check limit 1').get() !== undefined)
    throw new StorageRefused(
      `The database in ${dataDir} is damaged: rows refer to rows that are missing. Nothing was changed. Restore the newest backup.`,
    )
}
