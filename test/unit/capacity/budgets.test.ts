import { beforeEach, expect, test } from 'vitest'
import type { Capacity } from '../../../appliance/capacity/capacity.ts'
import { testCapacity } from '../../world/capacity.ts'

/** Only the tests change it. */
let now: number
let timers: { at: number; callback: () => void }[]
let capacity: Capacity
beforeEach(() => {
  now = 1_000_000
  timers = []
  const after = (ms: number, callback: () => void) => {
    timers.push({ at: now + ms, callback })
    return () => undefined
  }
  capacity = testCapacity({ now: () => now, after }, '/nowhere')
})

/** Returns how many more requests an address may make now. */
function left(ip: string): number {
  let count = 0
  while (capacity.budgets.take(ip) === 0) count++
  return count
}

test('an unknown address has a budget of 500 requests, plus 25 each second', () => {
  expect(left('192.0.2.1')).toBe(500)
  expect(capacity.budgets.take('192.0.2.1')).toBe(1)
  now += 2000
  expect(left('192.0.2.1')).toBe(50)
  now += 3_600_000
  expect(left('192.0.2.1')).toBe(500)
  expect(left('192.0.2.2')).toBe(500)
  expect(capacity.figures().budgets.refused).toBe(5)
})

test('all addresses of an IPv6 site share a budget', () => {
  expect(left('2001:db8:1:2::1')).toBe(500)
  expect(left('2001:db8:1:3::1')).toBe(0)
  expect(left('2001:db8:2::1')).toBe(500)
})

test('an address with a signed-in client immediately has ten times the budget', () => {
  expect(left('192.0.2.1')).toBe(500)
  const connection = capacity.smtp.enter('192.0.2.1')
  if (typeof connection === 'string') throw new Error(connection)
  connection.identify('team')
  expect(left('192.0.2.1')).toBe(4500)
  now += 1000
  expect(left('192.0.2.1')).toBe(250)
})

test('a response costs one request per 64 KB beyond the first, and the debt is limited', () => {
  capacity.budgets.charge('192.0.2.1', 60_000)
  expect(capacity.budgets.take('192.0.2.1', 500)).toBe(0)
  now += 3_600_000
  capacity.budgets.charge('192.0.2.1', 100 * 64 * 1024)
  expect(left('192.0.2.1')).toBe(400)
  for (let count = 0; count < 100; count++) capacity.budgets.charge('192.0.2.1', 1e9)
  expect(capacity.budgets.take('192.0.2.1')).toBe(21)
  now += 21_000
  expect(left('192.0.2.1')).toBeGreaterThan(0)
})

test('rejections are delayed by a second, and spaced out', async () => {
  const said = [1, 2, 3].map(() => capacity.budgets.hold())
  expect(timers.map(({ at }) => at - now)).toEqual([1000, 1003, 1006])
  for (const { callback } of timers) callback()
  await Promise.all(said)
})
