/** Creates the missing databases of test/fixtures/schemas: one for each migration. */
import Database from 'better-sqlite3'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { applyMigrations, shippedMigrations } from '../appliance/storage/sqlite/migrate.ts'

const folder = join(import.meta.dirname, '..', 'test', 'fixtures', 'schemas')
const scratch = mkdtempSync(join(tmpdir(), 'posthaste-schemas-'))
const migrations = shippedMigrations()
// `--until 12` skips later migrations, which may not be finished.
const last = process.argv[2] === '--until' ? Number(process.argv[3]) : Infinity
const digits = (number: number): string => String(number).padStart(4, '0')

for (const { number } of migrations.filter((one) => one.number <= last)) {
  const target = join(folder, `${digits(number)}.db.gz`)
  if (existsSync(target)) continue
  const file = join(scratch, `${number}.db`)
  const db = new Database(file)
  db.pragma('foreign_keys = on')
  for (const migration of migrations.filter((one) => one.number <= number)) {
    applyMigrations(
      db,
      migrations.filter((one) => one.number <= migration.number),
    )
    const data = join(folder, `${digits(migration.number)}.sql`)
    if (existsSync(data)) db.exec(readFileSync(data, 'utf8'))
  }
  db.exec('vacuum')
  db.close()
  writeFileSync(target, gzipSync(readFileSync(file), { level: 9 }))
  console.log(target)
}
rmSync(scratch, { recursive: true })
