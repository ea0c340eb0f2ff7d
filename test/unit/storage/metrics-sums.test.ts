import Database from 'better-sqlite3'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { recomputeMetrics } from '../../../appliance/events/metrics.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import { DAY, makeTeam, putEmail, T0 } from '../../contract/fixtures.ts'
import { makePlace } from './places.ts'

/** T0 is a Thursday, so its week ends five days later. */
const NEXT_WEEK = T0 + 5 * DAY

test('recomputing metrics fixes wrong, missing and extra sums', async () => {
  const dataDir = join(await makePlace(), 'data')
  const storage = await openSqlite({ dataDir })
  const teamId = (await makeTeam(storage)).team.id
  const { id } = await putEmail(storage, teamId, ['a@x.test'])
  await storage.dropQueue({ emailId: id }, T0)
  while (await storage.sumMetricsUp({ teamId }, NEXT_WEEK));
  expect(await recomputeMetrics(storage, NEXT_WEEK)).toEqual({ changed: 0, left: 0 })

  const db = new Database(join(dataDir, 'posthaste.db'))
  const rows = () => db.prepare('select * from metrics_sums').all()
  const right = rows()
  // Hours and days in total and by provider, days by domain, and the week of each.
  expect(right).toHaveLength(8)
  db.exec(`
    update metrics_sums set n = 7 where dimension = 'all' and length = 604800000;
    delete from metrics_sums where dimension = 'domain' and length = 86400000;
    insert into metrics_sums select team_id, dimension, length, at, value, 'opened', 1 from metrics_sums
      where dimension = 'provider' and length = 3600000`)
  expect(await recomputeMetrics(storage, NEXT_WEEK)).toEqual({ changed: 3, left: 0 })
  expect(rows()).toEqual(right)
  db.close()
  await storage.close()
})

test('recomputing subtracts a removed count from the sums, and a day without counts has no row', async () => {
  const dataDir = join(await makePlace(), 'data')
  const storage = await openSqlite({ dataDir })
  const teamId = (await makeTeam(storage)).team.id
  const { id } = await putEmail(storage, teamId, ['a@x.test'])
  await storage.dropQueue({ emailId: id }, T0)
  while (await storage.sumMetricsUp({ teamId }, NEXT_WEEK));

  // A roll-up without an event, as a bug might leave it. Recomputing removes it.
  const db = new Database(join(dataDir, 'posthaste.db'))
  db.prepare(`insert into metrics values (?, ?, 'd', 'opened', '?x.test', 3)`).run(teamId, T0)
  const opened = `select count(*), min(n), max(n) from metrics_sums where counter = 'opened'`
  expect(db.prepare(opened).raw().get()).toEqual([8, 3, 3])
  expect(await recomputeMetrics(storage, NEXT_WEEK)).toEqual({ changed: 1, left: 0 })
  expect(db.prepare(opened).raw().get()).toEqual([0, null, null])
  db.close()
  await storage.close()
})
