import { Writable } from 'node:stream'
import pino from 'pino'
import { expect, test } from 'vitest'
import { join } from 'node:path'
import { newId } from '../../../appliance/mail/ids.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import { createHousekeepingTasks } from '../../../appliance/housekeeping/housekeeping.ts'
import { DAY, makeTeam, putEmail, T0 } from '../../contract/fixtures.ts'
import { createTestClock } from '../../world/clock.ts'
import { makePlace } from '../storage/places.ts'

const retention = { bodiesDays: 30, attemptsDays: 90, eventsDays: 90, emailsDays: 365, diskBudget: null }

test('stopping succeeds although housekeeping failed', async () => {
  const storage = await openSqlite({ dataDir: join(await makePlace(), 'data') })
  const lines: string[] = []
  const write = (chunk: Buffer, _: string, done: () => void): void => {
    lines.push(chunk.toString())
    done()
  }
  const log = pino(new Writable({ write }))
  const chores = createHousekeepingTasks({
    storage,
    log,
    retention,
    logDays: 30,
    webhookDays: 30,
    auditDays: 730,
    clock: createTestClock(),
  })
  await storage.close()
  await chores.run()
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0]!)).toMatchObject({
    msg: 'housekeeping failed; will retry in an hour',
    err: { message: 'The storage is closed.' },
  })
  await expect(chores.stop()).resolves.toBeUndefined()
})

test('a run that begins after stopping does nothing', async () => {
  const storage = await openSqlite({ dataDir: join(await makePlace(), 'data') })
  const log = pino({ level: 'silent' })
  const before = storage.stats().calls
  const chores = createHousekeepingTasks({
    storage,
    log,
    retention,
    logDays: 30,
    webhookDays: 30,
    auditDays: 730,
    clock: createTestClock(),
  })
  await chores.stop()
  await chores.run()
  expect(storage.stats().calls).toBe(before)
  await storage.close()
})

test('housekeeping sums up the metrics of past days', async () => {
  const storage = await openSqlite({ dataDir: join(await makePlace(), 'data') })
  const clock = createTestClock()
  await clock.set(T0 + DAY + 1)
  const teamId = (await makeTeam(storage)).team.id
  const { id } = await putEmail(storage, teamId, ['a@x.test'])
  await storage.dropQueue({ emailId: id }, T0)
  const chores = createHousekeepingTasks({
    storage,
    log: pino({ level: 'silent' }),
    retention,
    clock,
    logDays: 30,
    webhookDays: 30,
    auditDays: 730,
  })
  await chores.run()
  expect(await storage.metricsSummed({ teamId }, T0)).toBe(T0 + DAY)
  await chores.stop()
  await storage.close()
})

test('housekeeping records segment sizes', async () => {
  const storage = await openSqlite({ dataDir: join(await makePlace(), 'data') })
  const clock = createTestClock()
  const teamId = (await makeTeam(storage)).team.id
  const segment = { id: newId(T0), teamId, name: 'All', filter: null, createdAt: T0, updatedAt: T0 }
  await storage.createSegment({ segment, most: 9 }, T0)
  const log = pino({ level: 'silent' })
  const days = { logDays: 30, webhookDays: 30, auditDays: 730 }
  const chores = createHousekeepingTasks({ storage, log, retention, clock, ...days })
  await chores.run()
  const date = new Date(clock.now()).toISOString().slice(0, 10)
  const asked = { segmentId: segment.id, from: '2000-01-01' }
  expect(await storage.segmentDays(asked, T0)).toEqual([{ date, contacts: 0 }])
  await chores.stop()
  await storage.close()
})
