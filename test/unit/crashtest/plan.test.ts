import { expect, test } from 'vitest'
import {
  createDice,
  nameOf,
  planKills,
  planOnPostgres,
  UNREACHABLE,
  unreachableOn,
} from '../../../appliance/crashtest/plan.ts'
import { CRASH_POINTS } from '../../../appliance/watch/crash-points.ts'

test('the same seed makes the same plan, another one another', () => {
  const plan = (seed: number) => planKills(200, createDice(seed))
  expect(plan(7)).toEqual(plan(7))
  expect(plan(7)).not.toEqual(plan(8))
  expect(plan(7)).toHaveLength(200)
})

test('the migration comes first and once, every other named point among the first', () => {
  const plan = planKills(300, createDice(1)).map(nameOf)
  const reached = Object.keys(CRASH_POINTS).filter((name) => !(name in UNREACHABLE))
  const names = [...reached, 'checkpoint-midway']
  expect(plan[0]).toBe('migration')
  expect(plan.filter((name) => name === 'migration')).toHaveLength(1)
  expect(plan.slice(0, names.length).toSorted()).toEqual(names.toSorted())
})

test.each([true, false])('on PostgreSQL, every point comes first; its server is killed: %s', (ownServer) => {
  const plan = planOnPostgres(300, createDice(1), { ownServer })
  const unreachable = unreachableOn('postgres')
  const names = Object.keys(CRASH_POINTS).filter((name) => !(name in unreachable))
  const first = [...names, ...(ownServer ? ['database server, then daemon'] : [])]
  expect(plan).toHaveLength(300)
  expect(plan.slice(0, first.length).map(nameOf).toSorted()).toEqual(first.toSorted())
  expect(plan.some(({ kind }) => kind === 'server')).toBe(ownServer)
})

test('about half of a long plan are random moments', () => {
  const random = planKills(2000, createDice(3)).filter(({ kind }) => kind === 'random')
  expect(random.length).toBeGreaterThan(1100)
  expect(random.length).toBeLessThan(1400)
})

test('fewer kills than points are made all the same', () => {
  expect(planKills(2, createDice(1))).toHaveLength(2)
  expect(planKills(0, createDice(1))).toEqual([])
})

test('the dice stay within what was asked for', () => {
  const dice = createDice(0)
  const thrown = Array.from({ length: 1000 }, () => dice.between(2, 4))
  expect(new Set(thrown)).toEqual(new Set([2, 3, 4]))
  expect(createDice(5).shuffled([1, 2, 3, 4]).toSorted()).toEqual([1, 2, 3, 4])
})
