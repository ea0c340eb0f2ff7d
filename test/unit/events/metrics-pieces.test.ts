import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { breakDownInChunks, planChunks, sumInChunks } from '../../../appliance/events/metrics-pieces.ts'
import { newId } from '../../../appliance/mail/ids.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import type { BreakdownQuery, MetricsSum, Storage } from '../../../appliance/storage/storage.ts'
import { makeTeam, putEmail } from '../../contract/fixtures.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const QUARTER = HOUR / 4
const MIDNIGHT = Date.UTC(2026, 10, 2)

describe('piecesOf', () => {
  test('splits a range at UTC midnights, and keeps the start of the range in each piece', () => {
    const [start, end] = [MIDNIGHT - HOUR, MIDNIGHT + DAY + HOUR]
    expect(planChunks([{ start, end }])).toEqual([
      { length: undefined, cuts: [{ start, end: MIDNIGHT, of: start }] },
      { length: undefined, cuts: [{ start: MIDNIGHT, end: MIDNIGHT + DAY, of: start }] },
      { length: undefined, cuts: [{ start: MIDNIGHT + DAY, end, of: start }] },
    ])
  })

  test('keeps the hours of a day together', () => {
    const hours = [-1, 0, 1].map((n) => ({ start: MIDNIGHT + n * HOUR, end: MIDNIGHT + (n + 1) * HOUR }))
    expect(planChunks(hours).map(({ cuts }) => cuts.map(({ of }) => of))).toEqual([
      [MIDNIGHT - HOUR],
      [MIDNIGHT, MIDNIGHT + HOUR],
    ])
  })

  test('returns nothing for an empty range', () => {
    expect(planChunks([])).toEqual([])
    expect(planChunks([{ start: MIDNIGHT, end: MIDNIGHT }])).toEqual([])
  })

  // The tests start at midnight on a Monday.
  const sums = { lengths: [7 * DAY, DAY, HOUR], until: MIDNIGHT + 9 * DAY, most: 100 }

  test('uses the longest complete sums that lie within the range', () => {
    const start = MIDNIGHT - DAY - HOUR - 5 * 60_000
    const [pieces, of] = [planChunks([{ start, end: MIDNIGHT + 9 * DAY + HOUR }], sums), start]
    const quarters = (from: number, to: number) => ({
      length: undefined,
      cuts: [{ start: from, end: to, of }],
    })
    expect(pieces).toEqual([
      quarters(MIDNIGHT - DAY - HOUR - QUARTER, MIDNIGHT - DAY - HOUR),
      quarters(MIDNIGHT + 9 * DAY, MIDNIGHT + 9 * DAY + HOUR),
      { length: HOUR, cuts: [{ start: MIDNIGHT - DAY - HOUR, end: MIDNIGHT - DAY, of }] },
      {
        length: DAY,
        cuts: [
          { start: MIDNIGHT - DAY, end: MIDNIGHT, of },
          { start: MIDNIGHT + 7 * DAY, end: MIDNIGHT + 9 * DAY, of },
        ],
      },
      { length: 7 * DAY, cuts: [{ start: MIDNIGHT, end: MIDNIGHT + 7 * DAY, of }] },
    ])
  })

  test('limits the number of sums read per call', () => {
    const [one, other] = [{ start: MIDNIGHT, end: MIDNIGHT + 3 * DAY }, MIDNIGHT + 5 * DAY]
    const pieces = planChunks([one, { start: other, end: other + DAY }], { ...sums, lengths: [DAY], most: 2 })
    expect(pieces).toEqual([
      { length: DAY, cuts: [{ start: MIDNIGHT, end: MIDNIGHT + 2 * DAY, of: MIDNIGHT }] },
      {
        length: DAY,
        cuts: [
          { start: MIDNIGHT + 2 * DAY, end: MIDNIGHT + 3 * DAY, of: MIDNIGHT },
          { start: other, end: other + DAY, of: other },
        ],
      },
    ])
  })
})

describe('metrics read in pieces', () => {
  let dataDir: string
  let storage: Storage
  let teamId: string
  const domains = [newId(1), newId(2), newId(3)] as const

  // On each of three days, the first, second and third domain send one, two and three emails.
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'posthaste-pieces-'))
    storage = await openSqlite({ dataDir })
    teamId = (await makeTeam(storage)).team.id
    for (const day of [0, 1, 2])
      for (const [n, domainId] of domains.entries())
        for (let i = 0; i <= n; i++) {
          const { id } = await putEmail(storage, teamId, ['a@x.test'], MIDNIGHT + day * DAY, { domainId })
          await storage.dropQueue({ emailId: id }, MIDNIGHT + day * DAY + HOUR)
        }
  })
  afterAll(async () => {
    await storage.close()
    await rm(dataDir, { recursive: true })
  })

  const range = { start: MIDNIGHT - 5 * DAY, end: MIDNIGHT + 5 * DAY }
  const order = (a: MetricsSum, b: MetricsSum) =>
    a.start - b.start || `${a.domainId} ${a.counter}`.localeCompare(`${b.domainId} ${b.counter}`)

  test('metrics read in pieces are the same as those read in one query', async () => {
    const ranges = [
      { start: range.start, end: MIDNIGHT + DAY + 2 * HOUR },
      { start: MIDNIGHT + DAY + 2 * HOUR, end: range.end },
    ]
    const whole = (await storage.sumMetrics({ teamId, ranges }, 0)).sort(order)
    expect((await sumInChunks(storage, { teamId, ranges }, 0)).sort(order)).toEqual(whole)
    expect(whole.map(({ n }) => n)).toEqual([2, 4, 6, 1, 2, 3])
  })

  test('metrics read in pieces can be summed over domains', async () => {
    expect(await sumInChunks(storage, { teamId, ranges: [range], together: true }, 0)).toEqual([
      { start: range.start, domainId: '', counter: 'failed', n: 18 },
    ])
    const [, second, third] = domains
    const two = { teamId, ranges: [range], together: true, domainIds: [second, third] }
    expect(await sumInChunks(storage, two, 0)).toEqual([
      { start: range.start, domainId: '', counter: 'failed', n: 15 },
    ])
  })

  test('metrics read in pieces are broken down into the largest over all days, and a sum of the others', async () => {
    const about: BreakdownQuery = { teamId, range, by: 'domain', counters: ['failed'], most: 1 }
    expect(await breakDownInChunks(storage, about, 0)).toEqual([
      { value: null, counter: 'failed', n: 9 },
      { value: domains[2], counter: 'failed', n: 9 },
    ])
    expect(await breakDownInChunks(storage, { ...about, most: 3 }, 0)).toHaveLength(3)
  })
})
