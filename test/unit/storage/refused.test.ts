import Database from 'better-sqlite3'
import { randomBytes } from 'node:crypto'
import { readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openSqlite, StorageRefused } from '../../../appliance/storage/sqlite/sqlite.ts'
import { makeTeam, putEmail } from '../../contract/fixtures.ts'
import { makePlace } from './places.ts'

/** Creates a closed data directory with some emails. */
async function makeUsed(): Promise<{ dataDir: string; file: string }> {
  const dataDir = await makePlace()
  const storage = await openSqlite({ dataDir })
  const { team } = await makeTeam(storage)
  for (let i = 0; i < 20; i++) await putEmail(storage, team.id, ['a@x.example'])
  await storage.close()
  return { dataDir, file: join(dataDir, 'posthaste.db') }
}

async function expectRefused(dataDir: string, sentence: RegExp): Promise<void> {
  const file = join(dataDir, 'posthaste.db')
  const before = await readFile(file)
  const error: unknown = await openSqlite({ dataDir }).catch((refusal: unknown) => refusal)
  expect(error).toBeInstanceOf(StorageRefused)
  expect((error as Error).message).toMatch(sentence)
  expect((await readFile(file)).equals(before), 'the file is left as it was').toBe(true)
}

function change(file: string, sql: string): void {
  const db = new Database(file)
  db.exec(sql)
  db.pragma('journal_mode = delete')
  db.close()
}

describe('unusable databases', () => {
  test('rejects a database with an edited migration, and leaves it unchanged', async () => {
    const { dataDir, file } = await makeUsed()
    change(file, "update migrations set checksum = 'ab' where number = 1")
    await expectRefusedKeepingRows(dataDir, /Migration 1 \(start\) .* its checksum differs/)
  })

  test('rejects a database that is newer than the program', async () => {
    const { dataDir, file } = await makeUsed()
    change(file, "insert into migrations values (9000, 'tomorrow', 'ab', 0)")
    await expectRefusedKeepingRows(dataDir, /made by a newer version: it has migration 9000 \(tomorrow\)/)
  })

  test('rejects a file that is not a database', async () => {
    const dataDir = await makePlace()
    await writeFile(join(dataDir, 'posthaste.db'), randomBytes(50_000))
    await expectRefused(dataDir, /not a database, or its beginning is damaged.*restore/)
  })

  test('rejects a database with a damaged first page', async () => {
    const { dataDir, file } = await makeUsed()
    const bytes = await readFile(file)
    await writeFile(file, bytes.fill(0xa5, 100, 4096))
    await expectRefused(dataDir, /The database is damaged.*restore/)
  })

  test('rejects a truncated database', async () => {
    const { dataDir, file } = await makeUsed()
    await truncate(file, 4096)
    await expectRefused(dataDir, /The database is damaged.*restore/)
  })

  test('rejects a missing or empty database if there was one before', async () => {
    const { dataDir, file } = await makeUsed()
    await truncate(file, 0)
    await expectRefused(dataDir, /is empty, but .*messages shows that there was one.*restore/)
    await rm(file)
    await expect(openSqlite({ dataDir })).rejects.toThrow(/is missing, but .* shows that there was one/)
    await expect(stat(file)).rejects.toThrow('ENOENT')
  })

  test('rejects an empty database that has a WAL with the last emails', async () => {
    const dataDir = await makePlace()
    await writeFile(join(dataDir, 'posthaste.db'), '')
    await writeFile(join(dataDir, 'posthaste.db-wal'), 'emails')
    await expectRefused(dataDir, /posthaste\.db-wal shows that there was one/)
    expect(await readFile(join(dataDir, 'posthaste.db-wal'), 'utf8')).toBe('emails')
  })

  test('rejects a database with a damaged page in the middle', async () => {
    const { dataDir, file } = await makeUsed()
    const bytes = await readFile(file)
    const middle = Math.floor(bytes.length / 8192) * 4096
    await writeFile(file, bytes.fill(0xa5, middle, middle + 4096))
    await expectRefused(dataDir, /is damaged.*Keep the files as they are/)
  })

  test('rejects a database of another program', async () => {
    const dataDir = await makePlace()
    change(join(dataDir, 'posthaste.db'), 'create table invoices (id integer)')
    await expectRefused(dataDir, /belongs to another program/)
  })

  test('rejects a directory in place of a database', async () => {
    const dataDir = join(await makePlace(), 'd')
    await openSqlite({ dataDir: join(dataDir, 'posthaste.db') }).then((storage) => storage.close())
    await expect(openSqlite({ dataDir })).rejects.toThrow(/cannot be opened: check the owner/)
  })
})

/** Compares rows instead of bytes, because reading the list of migrations turns the write-ahead log on again. */
async function expectRefusedKeepingRows(dataDir: string, sentence: RegExp): Promise<void> {
  const error: unknown = await openSqlite({ dataDir }).catch((refusal: unknown) => refusal)
  expect(error).toBeInstanceOf(StorageRefused)
  expect((error as Error).message).toMatch(sentence)
  const db = new Database(join(dataDir, 'posthaste.db'), { readonly: true })
  expect(db.prepare('select count(*) from emails').pluck().get()).toBe(20)
  db.close()
}
