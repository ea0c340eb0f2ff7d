import Database from 'better-sqlite3'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { recomputeMetrics } from '../../../appliance/events/metrics.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import { makePlace } from './places.ts'

const TEAM = '0197c3e2-5a71-7000-8000-000000000001'
const EMAIL = '0197c3e2-5a71-7000-8000-000000000013'
const DELIVERY = '0197c3e2-5a71-7000-8000-000000000113'
const QUARTER = 900_000
/** The quarter of an hour of the events that the database has, and the last millisecond of it. */
const THEN = 1_767_225_600_000
const LAST = THEN + QUARTER - 1

/** A database as it was before there were roll-ups, with events of every type that there was then. */
async function oldDatabase(): Promise<string> {
  const dataDir = join(await makePlace(), 'data')
  mkdirSync(dataDir, { mode: 0o700 })
  const file = join(dataDir, 'posthaste.db')
  const fixture = join(import.meta.dirname, '../../fixtures/schemas/0012.db.gz')
  writeFileSync(file, gunzipSync(readFileSync(fixture)), { mode: 0o600 })
  const db = new Database(file)
  const insert = db.prepare(
    `insert into events (id, team_id, email_id, delivery_id, type, created_at, data) values (?, ?, ?, ?, ?, ?, ?)`,
  )
  const add = (n: number, type: string, at: number, data: object, delivery: string | null = DELIVERY) =>
    insert.run(
      `0197c3e2-5a71-7000-8000-00000000040${n}`,
      TEAM,
      EMAIL,
      delivery,
      type,
      at,
      JSON.stringify(data),
    )
  add(1, 'email.bounced', LAST, { bounce: { type: 'Permanent', category: 'mailbox-full' } })
  add(2, 'email.bounced', LAST + 1, { bounce: { type: 'Transient' } })
  add(3, 'email.bounced', LAST + 1, {})
  add(4, 'email.delivery_delayed', THEN, {})
  add(5, 'email.suppressed', THEN, {})
  // Sent to three people, of whom one was on the suppression list.
  db.prepare(
    `insert into recipients (id, team_id, email_id, recipient, field, provider, state, attempts, created_at, updated_at)
     values (?, ?, ?, ?, 'to', 'gmail', ?, 1, ?, ?)`,
  ).run('0197c3e2-5a71-7000-8000-000000000198', TEAM, EMAIL, 'b@x.example', 'delivered', THEN, THEN)
  db.prepare(
    `insert into recipients (id, team_id, email_id, recipient, field, provider, state, attempts, created_at, updated_at)
     values (?, ?, ?, ?, 'to', 'gmail', ?, 0, ?, ?)`,
  ).run('0197c3e2-5a71-7000-8000-000000000199', TEAM, EMAIL, 'c@x.example', 'suppressed', THEN, THEN)
  add(6, 'email.delivered', THEN, {}, '0197c3e2-5a71-7000-8000-000000000198')
  db.close()
  return dataDir
}

test('the roll-ups of a database from before them count its old events', async () => {
  const dataDir = await oldDatabase()
  const storage = await openSqlite({ dataDir })
  expect(await recomputeMetrics(storage, LAST)).toEqual({ changed: 0, left: 0 })
  await storage.close()

  const db = new Database(join(dataDir, 'posthaste.db'), { readonly: true })
  const domain = db.prepare('select domain_id from emails where id = ?').pluck().get(EMAIL)
  const provider = db.prepare('select provider from recipients where id = ?').pluck().get(DELIVERY)
  const rows = db.prepare('select * from metrics order by at, counter, provider').all()
  db.close()
  const row = (at: number, counter: string, of: unknown, n = 1) => ({
    ...{ team_id: TEAM, at, domain_id: domain, counter, provider: of, n },
  })
  const next = THEN + QUARTER
  const delivered = [provider, 'gmail'].toSorted().map((of) => row(THEN, 'delivered', of))
  expect(rows).toEqual([
    row(THEN, 'bounced_about_mailbox-full', provider),
    row(THEN, 'bounced_permanent', provider),
    ...delivered,
    row(THEN, 'delivery_delayed', provider),
    row(THEN, 'sent', '', 2),
    row(THEN, 'suppressed', provider),
    row(next, 'bounced_transient', provider),
    row(next, 'bounced_undetermined', provider),
  ])
})
