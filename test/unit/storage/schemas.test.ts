import Database from 'better-sqlite3'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { applyMigrations, shippedMigrations } from '../../../appliance/storage/sqlite/migrate.ts'
import { listSnapshots, openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import { leaseArgs, putEmail, T0 } from '../../contract/fixtures.ts'
import { makePlace } from './places.ts'

const folder = join(import.meta.dirname, '../../fixtures/schemas')
const kept = readdirSync(folder).filter((name) => name.endsWith('.db.gz'))
const team = '0197c3e2-5a71-7000-8000-000000000001'
const done = '0197c3e2-5a71-7000-8000-000000000013'

const newest = shippedMigrations().at(-1)!.number

test('there is a sample database of every schema version, except newer ones in development', () => {
  const numbers = kept.map((name) => Number.parseInt(name, 10))
  const last = Math.max(...numbers)
  const wanted = shippedMigrations().map(({ number }) => number)
  expect(numbers).toEqual(wanted.filter((number) => number <= last))
})

test.each(kept)('a database of schema %s is migrated and works', async (name) => {
  const dataDir = join(await makePlace(), 'data')
  mkdirSync(dataDir, { mode: 0o700 })
  const database = join(dataDir, 'posthaste.db')
  writeFileSync(database, gunzipSync(readFileSync(join(folder, name))), { mode: 0o600 })
  const schema = Number.parseInt(name, 10)

  const storage = await openSqlite({ dataDir })
  // Of all existing users, only the first owner is known to own the address.
  const proven = (await storage.listUsers({}, T0)).map(({ email, provenAt }) => [email, provenAt !== null])
  expect(proven).toEqual([
    ['owner@example.com', true],
    ['viewer@example.com', false],
  ])
  expect(await storage.listEmails({ teamId: team, limit: 10 }, T0)).toMatchObject({
    items: [
      { subject: 'Subject 13' },
      { subject: 'Subject 12' },
      { subject: 'Subject 11' },
      { subject: 'Subject 10' },
    ],
  })
  expect(await storage.getEmail({ teamId: team, id: done }, T0)).toMatchObject({
    content: { html: '<p>Subject 13</p>' },
    lastEvent: 'delivered',
  })
  expect(await storage.getHistory({ teamId: team, id: done }, T0)).toMatchObject({
    deliveries: [{ recipient: 'a@x.example', state: 'delivered' }],
    attempts: [{ startedAt: 1767225600000 }],
    events: [{ type: 'email.sent' }, { type: 'email.delivered' }],
  })
  expect(await storage.getMessage({ emailId: done }, T0)).toBeDefined()
  const logs = await storage.listLogs({ teamId: team, limit: 10, emailId: done }, T0)
  expect(logs.items).toMatchObject([{ endpoint: '/emails' }])
  const { id } = logs.items[0]!
  expect(await storage.getLog({ teamId: team, id }, T0)).toMatchObject({ emailIds: [done] })
  // Queued deliveries stay queued: one is due, one was in flight with an expired lease, one is held.
  const leased = await storage.lease(leaseArgs({ leaseUntil: T0 + 400_000 }), T0 + 200_000)
  expect(leased.map(({ emailId }) => emailId.slice(-2)).sort()).toEqual(['10', '11'])
  expect((await storage.listQueue({ state: 'held', limit: 10 }, T0)).items).toHaveLength(1)
  await putEmail(storage, team, ['new@y.example'])
  await storage.close()

  expect(listSnapshots(dataDir).map((one) => one.schema)).toEqual(schema < newest ? [schema] : [])
  const db = new Database(database, { readonly: true })
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
  expect(db.pragma('foreign_key_check')).toEqual([])
  expect(db.prepare('select max(number) from migrations').pluck().get()).toBe(newest)
  db.close()
})

test('counts audience growth from before migration 88', () => {
  const db = new Database(':memory:')
  const until = (number: number) =>
    applyMigrations(
      db,
      shippedMigrations().filter((one) => one.number <= number),
    )
  until(87)
  db.prepare('insert into teams (id, name, created_at) values (?, ?, ?)').run(team, 'Team', T0)
  const contact = db.prepare(
    `insert into contacts (id, team_id, email, address_key, properties, unsubscribed_at, unsubscribed_by, created_by, created_at, updated_at)
     values (?, ?, ?, ?, '{}', ?, ?, 'api', ?, ?)`,
  )
  const DAY = 86_400_000
  for (const [name, at, out] of [
    ['a', T0, null],
    ['b', T0 + DAY - 1, T0 + DAY],
    ['c', T0 + DAY, null],
  ] as const)
    contact.run(name, team, name, name, out, out === null ? null : 'person', at, at)
  until(88)
  const days = db.prepare('select noun, subject, n from audience_counts order by noun, subject').raw().all()
  expect(days).toEqual([
    ['created_on', '2026-01-01', 2],
    ['created_on', '2026-01-02', 1],
    ['unsubscribed_on', '2026-01-02', 1],
  ])
  db.close()
})
