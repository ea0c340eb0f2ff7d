import Database from 'better-sqlite3'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { recomputeMetrics, computeBreakdown, parseBreakdownQuery } from '../../../appliance/events/metrics.ts'
import { catchUpTagCounts, createTagCounter } from '../../../appliance/events/metrics-tags.ts'
import { openSqlite, type SqliteStorage } from '../../../appliance/storage/sqlite/sqlite.ts'
import { createSilentLogger } from '../../../appliance/watch/log.ts'
import { DAY, makeTeam, putEmail, T0 } from '../../contract/fixtures.ts'
import { createTestClock } from '../../world/clock.ts'
import { makePlace } from './places.ts'

async function open(): Promise<{ storage: SqliteStorage; teamId: string; db: Database.Database }> {
  const dataDir = join(await makePlace(), 'data')
  const storage = await openSqlite({ dataDir })
  const teamId = (await makeTeam(storage)).team.id
  return { storage, teamId, db: new Database(join(dataDir, 'posthaste.db')) }
}

/** Stores emails that fail at once. */
async function fail(storage: SqliteStorage, teamId: string, count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    const { id } = await putEmail(storage, teamId, ['a@x.test'])
    await storage.dropQueue({ emailId: id }, T0)
  }
}

test('recomputing fixes wrong, missing and extra metrics by tag', async () => {
  const { storage, teamId, db } = await open()
  await fail(storage, teamId, 2)
  await catchUpTagCounts(storage, T0)
  const rows = () => [
    db.prepare('select * from metrics_tags').all(),
    db.prepare('select * from metrics_tags_days').all(),
  ]
  const right = rows()
  // The quarter hour, and the day in total, by domain and by provider.
  expect(right.map((one) => one.length)).toEqual([2, 4])
  db.exec(`
    update metrics_tags set n = 7 where domain_id = (select min(domain_id) from metrics_tags);
    delete from metrics_tags_days where dimension = 'provider';
    insert into metrics_tags_days select team_id, dimension, at, value, 'kind:other', counter, 1 from metrics_tags_days
      where dimension = 'all'`)
  expect(await recomputeMetrics(storage, T0)).toEqual({ changed: 3, left: 0 })
  expect(rows()).toEqual(right)
  expect(await recomputeMetrics(storage, T0)).toEqual({ changed: 0, left: 0 })
  db.close()
  await storage.close()
})

test('counts events from before tag metrics existed, and retention keeps such events until they are counted', async () => {
  const { storage, teamId, db } = await open()
  await fail(storage, teamId, 3)
  expect(db.prepare('select seq from cursors where name = ?').pluck().get('tags')).toBe(0)
  db.exec(`update cursors set seq = (select max(seq) from events) where name = 'webhooks'`)
  const purge = () => storage.purgeEvents({ before: T0 + 1000 * DAY, most: 500 }, T0)
  expect(await purge()).toMatchObject({ count: 0 })
  await catchUpTagCounts(storage, T0)
  expect(await purge()).toMatchObject({ count: 3 })
  db.close()
  await storage.close()
})

test('a query counts up to 10,000 pending events itself, and reports how far it got', async () => {
  const { storage, teamId, db } = await open()
  await fail(storage, teamId, 1)
  const more = db.prepare(`
    insert into events (id, team_id, email_id, type, created_at, data, counted, domain_id)
    select ? || id, team_id, email_id, type, created_at + ?, data, counted, domain_id from events limit 1`)
  db.transaction(() => {
    for (let n = 1; n < 10_500; n++) more.run(`${n}`, n)
  })()
  const now = T0 + DAY / 2
  const ask = async () => {
    const asked = parseBreakdownQuery({ by: 'tag' }, now)
    const { rows, totals, countedUntil } = await computeBreakdown(storage, teamId, asked, new Map(), now)
    return { failed: rows[0]!.counts.failed, all: totals.failed, countedUntil }
  }
  expect(await ask()).toEqual({ failed: 10_000, all: 1, countedUntil: T0 + 10_000 })
  expect(await ask()).toEqual({ failed: 10_500, all: 1, countedUntil: null })
  db.close()
  await storage.close()
})

test('a query on a full disk returns the counts so far', async () => {
  const { storage, teamId, db } = await open()
  await fail(storage, teamId, 1)
  await catchUpTagCounts(storage, T0)
  await fail(storage, teamId, 1)
  const full = { ...storage, addTagCounts: () => Promise.reject(new Error('SQLITE_FULL')) }
  const asked = parseBreakdownQuery({ by: 'tag' }, T0 + 1)
  const { rows, countedUntil } = await computeBreakdown(full, teamId, asked, new Map(), T0 + 1)
  expect([rows[0]!.counts.failed, countedUntil]).toEqual([1, T0])
  db.close()
  await storage.close()
})

test('the background tag counter counts existing and later events', async () => {
  const { storage, teamId, db } = await open()
  const clock = createTestClock()
  await fail(storage, teamId, 300)
  const counter = createTagCounter({ storage, clock, log: createSilentLogger(), pollMs: 1000 })
  const counted = () =>
    db.prepare(`select coalesce(sum(n), 0) from metrics_tags_days where dimension = 'all'`).pluck().get()
  counter.start()
  await expect.poll(counted, { timeout: 20_000 }).toBe(300)
  await fail(storage, teamId, 1)
  await expect
    .poll(
      async () => {
        await clock.advance(5000)
        return counted()
      },
      { timeout: 20_000 },
    )
    .toBe(301)
  await counter.stop()
  db.close()
  await storage.close()
})
