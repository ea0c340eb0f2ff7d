import { expect, test } from 'vitest'
import { nameOfFault, planNodeFaults } from '../../../appliance/crashtest/node-plan.ts'
import { createDice } from '../../../appliance/crashtest/plan.ts'

const plan = (faults: number, seed = 1) => planNodeFaults(faults, 3, createDice(seed))

test('the same seed makes the same plan, another one another', () => {
  expect(plan(100)).toEqual(plan(100))
  expect(plan(100)).not.toEqual(plan(100, 2))
  expect(plan(0)).toEqual([])
})

test('the first four faults are of each kind, and a long plan has all of them', () => {
  const kinds = plan(200).map((one) => (one.kind === 'node' ? one.start : one.kind))
  const expected = ['at once', 'pause', 'server', 'when freed']
  expect(kinds.slice(0, 4).toSorted()).toEqual(expected)
  expect(plan(200).map(nameOfFault)).toContain('database server, long')
  for (const kind of expected) expect(kinds.filter((one) => one === kind).length).toBeGreaterThan(20)
})

test('every node is hit, and a stopped one stays so for longer than it works without a renewal', () => {
  const faults = plan(300)
  const nodes = faults.flatMap((one) => ('node' in one ? [one.node] : []))
  expect(new Set(nodes)).toEqual(new Set([0, 1, 2]))
  const pauses = faults.flatMap((one) => (one.kind === 'pause' ? [one.forMs] : []))
  expect(Math.min(...pauses)).toBeGreaterThan(8000)
  // Some are so long that others free its leases, which takes 17 seconds.
  expect(Math.max(...pauses)).toBeGreaterThan(20_000)
})
