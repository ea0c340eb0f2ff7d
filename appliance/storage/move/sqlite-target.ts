/** The SQLite database that is filled with the rows of a PostgreSQL database. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { StorageRefused } from '../engine/failures.ts'
import { type Connection, openEmpty, openWriter, refuseMissingDatabase } from '../sqlite/connection.ts'
import { DATABASE_FILE, makePrivateFile } from '../sqlite/directory.ts'
import { applyMigrations, shippedMigrations } from '../sqlite/migrate.ts'
import type { Move } from './marker.ts'
import { passUncommittedRows, SEEDED, type Target, type TargetState } from './parts.ts'
import type { Batch, Row, Value } from './rows.ts'
import { type TableToMove, quoteName, listTables } from './tables.ts'

/** The schema of this program: its tables, and the statements that create its triggers. */
export interface SqliteSchema {
  tables: TableToMove[]
  triggers: string[]
}

/** Reads the schema from an empty database in memory. */
export function readSchema(): SqliteSchema {
  const db = openEmpty()
  try {
    applyMigrations(db, shippedMigrations())
    const triggers = db
      .prepare<[], string>("select sql from sqlite_schema where type = 'trigger' order by name")
      .pluck()
      .all()
    return { tables: listTables(db, { fromFiles: false }), triggers }
  } finally {
    db.close()
  }
}

export class SqliteTarget implements Target {
  readonly #dataDir: string
  readonly #triggers: readonly string[]
  #db: Connection | undefined

  /** Opens the database if there is one. @throws StorageRefused if it is damaged or foreign */
  constructor(dataDir: string, triggers: readonly string[]) {
    this.#dataDir = dataDir
    this.#triggers = triggers
    const file = join(dataDir, DATABASE_FILE)
    if (existsSync(file)) this.#db = openWriter(file)
    else refuseMissingDatabase(dataDir)
    this.#db?.pragma('foreign_keys = off')
  }

  /** Creates the file of a new database. */
  async create(): Promise<void> {
    if (this.#db) return
    this.#db = openWriter(await makePrivateFile(this.#dataDir, DATABASE_FILE))
    this.#db.pragma('foreign_keys = off')
  }

  state(): TargetState {
    if (!this.#db) return { kind: 'new' }
    const names = this.#names()
    if (names.length === 0) return { kind: 'new' }
    if (names.includes('storage_move')) {
      const id = this.#db.prepare<[], string>('select move_id from storage_move limit 1').pluck().get()!
      return { kind: 'move', id }
    }
    const used = names
      .filter((name) => !SEEDED.includes(name))
      .find((name) => this.#db!.prepare(`select 1 from ${quoteName(name)} limit 1`).get() !== undefined)
    return used === undefined ? { kind: 'empty' } : { kind: 'used', table: used }
  }

  hasEnded({ id }: Move): boolean {
    if (!this.#db || !this.#names().includes('audit_log')) return false
    return this.#db.prepare('select 1 from audit_log where id = ?').get(id) !== undefined
  }

  begin(tables: readonly TableToMove[], { id }: Move): void {
    const db = this.#open()
    applyMigrations(db, shippedMigrations())
    this.#transaction(() => {
      db.exec(
        'create table storage_move (name text primary key, move_id text not null, after text, row_count integer not null) strict',
      )
      const triggers = db
        .prepare<[], string>("select name from sqlite_schema where type = 'trigger'")
        .pluck()
        .all()
      for (const name of triggers) db.exec(`drop trigger ${quoteName(name)}`)
      for (const { name } of tables) {
        db.prepare('insert into storage_move (name, move_id, row_count) values (?, ?, 0)').run(name, id)
        if (SEEDED.includes(name)) db.exec(`delete from ${quoteName(name)}`)
      }
    })
  }

  progress({ name }: TableToMove): { rows: number; after: Row | undefined } {
    const found = this.#open()
      .prepare<[string], { rows: number; after: string | null }>(
        'select row_count as rows, after from storage_move where name = ?',
      )
      .get(name)
    if (!found)
      throw new StorageRefused(`The move was started by another version, without the table ${name}.`)
    return { rows: found.rows, after: found.after === null ? undefined : (JSON.parse(found.after) as Row) }
  }

  store({ name, columns }: TableToMove, { rows, last }: Batch): void {
    const db = this.#open()
    const places = columns.map(() => '?').join(', ')
    const insert = db.prepare<Value[]>(
      `insert into ${quoteName(name)} (${columns.map(quoteName).join(', ')}) values (${places})`,
    )
    this.#transaction(() => {
      for (const row of rows) insert.run(...row)
      db.prepare('update storage_move set after = ?, row_count = row_count + ? where name = ?').run(
        JSON.stringify(last),
        rows.length,
        name,
      )
    })
  }

  range({ name, columns, key }: TableToMove, { first, last }: Batch, most: number): Row[] {
    const names = key.map(quoteName).join(', ')
    const places = key.map(() => '?').join(', ')
    return this.#open()
      .prepare<Value[], Value[]>(
        `select ${columns.map(quoteName).join(', ')} from ${quoteName(name)}
         where (${names}) >= (${places}) and (${names}) <= (${places}) order by ${names} limit ${most}`,
      )
      .raw()
      .all(...first, ...last)
  }

  count({ name }: TableToMove): number {
    return this.#open()
      .prepare<[], number>(`select count(*) from ${quoteName(name)}`)
      .pluck()
      .get()!
  }

  end(
    _tables: readonly TableToMove[],
    sequences: readonly { table: string; last: number }[],
    log: readonly Record<string, Value>[],
  ): void {
    const db = this.#open()
    this.#transaction(() => {
      for (const { table, last } of sequences) {
        db.prepare('delete from sqlite_sequence where name = ?').run(table)
        db.prepare('insert into sqlite_sequence (name, seq) values (?, ?)').run(table, last)
      }
      for (const entry of log) {
        const names = Object.keys(entry)
        db.prepare(
          `insert into audit_log (${names.map(quoteName).join(', ')}) values (${names.map(() => '?').join(', ')})`,
        ).run(...Object.values(entry))
      }
      for (const trigger of this.#triggers) db.exec(trigger)
      db.exec('drop table storage_move')
      const broken = db.prepare<[], { table: string }>('select "table" from pragma_foreign_key_check limit 1')
      const found = broken.get()
      if (found) throw new StorageRefused(`Rows of the table ${found.table} refer to rows that are missing.`)
    })
    db.exec('analyze')
  }

  close(): void {
    this.#db?.close()
  }

  #open(): Connection {
    if (!this.#db) throw new Error('The database was not created.')
    return this.#db
  }

  #names(): string[] {
    return this.#open()
      .prepare<[], string>(
        "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' order by name",
      )
      .pluck()
      .all()
  }

  #transaction(work: () => void): void {
    this.#open()
      .transaction(() => {
        work()
        passUncommittedRows()
      })
      .immediate()
  }
}
