import { describe, expect, test } from 'vitest'
import { formatFaultName, planNodeFaults } from '../../../appliance/crashtest/node-plan.ts'
import {
  createRandomGenerator,
  formatKillName,
  planKills,
  planPostgresKills,
  UNREACHABLE_POINTS,
  listUnreachablePoints,
} from '../../../appliance/crashtest/plan.ts'
import { CRASH_POINTS } from '../../../appliance/watch/crash-points.ts'

test('planKills depends only on the seed', () => {
  const plan = (seed: number) => planKills(200, createRandomGenerator(seed))
  expect(plan(7)).toEqual(plan(7))
  expect(plan(7)).not.toEqual(plan(8))
  expect(plan(7)).toHaveLength(200)
})

test('the migration comes first and only once, followed by every other named point', () => {
  const plan = planKills(300, createRandomGenerator(1)).map(formatKillName)
  const reached = Object.keys(CRASH_POINTS).filter((name) => !(name in UNREACHABLE_POINTS))
  const names = [...reached, 'checkpoint-midway']
  expect(plan[0]).toBe('migration')
  expect(plan.filter((name) => name === 'migration')).toHaveLength(1)
  expect(plan.slice(0, names.length).toSorted()).toEqual(names.toSorted())
})

test.each([true, false])(
  'on PostgreSQL, every named point comes first; the database server is killed: %s',
  (ownServer) => {
    const plan = planPostgresKills(300, createRandomGenerator(1), { ownServer })
    const unreachable = listUnreachablePoints('postgres')
    const names = Object.keys(CRASH_POINTS).filter((name) => !(name in unreachable))
    const first = [...names, ...(ownServer ? ['database server, then daemon'] : [])]
    expect(plan).toHaveLength(300)
    expect(plan.slice(0, first.length).map(formatKillName).toSorted()).toEqual(first.toSorted())
    expect(plan.some(({ kind }) => kind === 'server')).toBe(ownServer)
  },
)

test('more than half of a long plan are random kills', () => {
  const random = planKills(2000, createRandomGenerator(3)).filter(({ kind }) => kind === 'random')
  expect(random.length).toBeGreaterThan(1100)
  expect(random.length).toBeLessThan(1400)
})

test('planKills can return a plan shorter than the list of named points', () => {
  expect(planKills(2, createRandomGenerator(1))).toHaveLength(2)
  expect(planKills(0, createRandomGenerator(1))).toEqual([])
})

test('the dice stays within the given range', () => {
  const dice = createRandomGenerator(0)
  const thrown = Array.from({ length: 1000 }, () => dice.between(2, 4))
  expect(new Set(thrown)).toEqual(new Set([2, 3, 4]))
  expect(createRandomGenerator(5).shuffled([1, 2, 3, 4]).toSorted()).toEqual([1, 2, 3, 4])
})

describe('faults of several nodes', () => {
  const plan = (faults: number, seed = 1) => planNodeFaults(faults, 3, createRandomGenerator(seed))

  test('the faults of several nodes depend only on the seed', () => {
    expect(plan(100)).toEqual(plan(100))
    expect(plan(100)).not.toEqual(plan(100, 2))
    expect(plan(0)).toEqual([])
  })

  test('the faults start with one of each kind, and a long plan has many of each', () => {
    const kinds = plan(300).map(formatFaultName)
    const expected = [
      'database server',
      'database server, long',
      'node killed, started at once',
      'node killed, started when freed',
      'node stopped and continued',
      'standby promoted',
    ]
    expect(kinds.slice(0, 6).toSorted()).toEqual(expected)
    for (const kind of expected) expect(kinds.filter((one) => one === kind).length).toBeGreaterThan(15)
  })

  test('long outages last longer than a node counts as alive without renewal', () => {
    const outages = plan(300).filter((one) => formatFaultName(one) === 'database server, long')
    expect(Math.min(...outages.map((one) => ('downMs' in one ? one.downMs : 0)))).toBeGreaterThan(15_000)
  })

  test('the faults hit every node, and pauses are longer than a node works without renewal', () => {
    const faults = plan(300)
    const nodes = faults.flatMap((one) => ('node' in one ? [one.node] : []))
    expect(new Set(nodes)).toEqual(new Set([0, 1, 2]))
    const pauses = faults.flatMap((one) => (one.kind === 'pause' ? [one.forMs] : []))
    expect(Math.min(...pauses)).toBeGreaterThan(8000)
    // Some are so long that others free its leases, which takes 17 seconds.
    expect(Math.max(...pauses)).toBeGreaterThan(20_000)
  })
})
