import { expect, test } from 'vitest'
import { createQueueControl, type QueueControlDeps } from '../../../appliance/queue/queue.ts'
import type { DeliveryGroup } from '../../../appliance/storage/storage.ts'
import { createTestClock } from '../../world/clock.ts'

/** Creates a control on a storage whose queue has these groups, read in two chunks. */
function controlOf(groups: DeliveryGroup[]) {
  const half = Math.ceil(groups.length / 2)
  const storage: Pick<QueueControlDeps['storage'], 'surveyQueue' | 'listQueue'> = {
    surveyQueue: async ({ after }) =>
      after === undefined
        ? { groups: groups.slice(0, half), next: 'on' }
        : { groups: groups.slice(half), next: null },
    listQueue: async () => ({ items: [], next: null }),
  }
  const clock = createTestClock()
  return createQueueControl({ storage: storage as QueueControlDeps['storage'], clock, wake: () => undefined })
}

const group = (n: number, more: Partial<DeliveryGroup> = {}): DeliveryGroup => ({
  teamId: 't',
  pool: 'default',
  provider: `p${n}.example`,
  domain: `d${n}.example`,
  state: 'waiting',
  attempted: 0,
  later: 0,
  nextAt: null,
  sampleId: `s${n}`,
  band: 0,
  count: 1,
  oldestAt: 1000 + n,
  newestAt: 2000 + n,
  oldestBegunAt: 1000 + n,
  ...more,
})

test('queue rows add up to the totals, however many destinations there are', async () => {
  const states = ['waiting', 'held', 'in_flight'] as const
  const groups = Array.from({ length: 900 }, (_, n) => {
    const count = 1 + ((n * 7919) % 50)
    const state = states[n % 3]!
    const later = state === 'waiting' ? n % count : 0
    const provider = n % 5 === 0 ? `?d${n}.example` : `p${n % 300}.example`
    return group(n, {
      provider,
      pool: n % 2 ? 'default' : 'warm',
      state,
      count,
      later,
      nextAt: later ? 5000 + n : null,
    })
  })
  const control = controlOf(groups)
  const [summary, rows] = [await control.summary({}), await control.lanes({})]
  const sum = (of: (row: (typeof rows)[number]) => number) => rows.reduce((total, row) => total + of(row), 0)
  expect(rows).toHaveLength(100)
  expect(sum(({ count }) => count)).toBe(summary.count)
  expect(sum(({ due, later }) => due + later)).toBe(summary.waiting)
  expect(sum(({ held }) => held)).toBe(summary.held)
  expect(sum(({ inFlight }) => inFlight)).toBe(summary.inFlight)
  for (const { count, due, later, held, inFlight } of rows) expect(due + later + held + inFlight).toBe(count)
  expect(rows.at(-1)).toMatchObject({ pool: null, provider: null })
  expect(new Set(rows.map(({ pool, provider }) => `${pool}/${provider}`)).size).toBe(100)
  expect(Math.min(...rows.map(({ oldestAt }) => oldestAt))).toBe(summary.oldestAt)
})

test('the largest domains without a provider have a row each, and the others share one per pool', async () => {
  const groups = Array.from({ length: 30 }, (_, n) =>
    group(n, { provider: `?d${n}.example`, count: 100 - n, pool: n === 29 ? 'warm' : 'default' }),
  )
  const put = { later: 2, nextAt: 9000 }
  const rows = await controlOf([...groups, group(99, { provider: '?z.example', count: 2, ...put })]).lanes({})
  expect(rows.filter(({ provider }) => provider !== '?').map(({ provider }) => provider)).toEqual(
    groups.slice(0, 20).map(({ provider }) => provider),
  )
  // Identified by the deferred delivery.
  expect(rows.filter(({ provider }) => provider === '?')).toEqual([
    {
      pool: 'default',
      provider: '?',
      count: 686,
      due: 684,
      later: 2,
      held: 0,
      inFlight: 0,
      oldestAt: 1020,
      nextAt: 9000,
      sampleId: 's99',
      sample: null,
    },
    {
      pool: 'warm',
      provider: '?',
      count: 71,
      due: 71,
      later: 0,
      held: 0,
      inFlight: 0,
      oldestAt: 1029,
      nextAt: null,
      sampleId: 's29',
      sample: null,
    },
  ])
})
