import { expect, test } from 'vitest'
import {
  computeBars,
  describeHistory,
  normalizeLimit,
  formatPeriod,
  describeRateUnit,
} from '../../../ui/src/state/usage.ts'

const days = (...used: number[]) => used.map((count, i) => ({ period: `2026-11-0${i + 1}`, used: count }))

test('the largest integer means no limit', () => {
  expect([normalizeLimit(Number.MAX_SAFE_INTEGER), normalizeLimit(null), normalizeLimit(0)]).toEqual([
    null,
    null,
    0,
  ])
})

test('describes usage periods in words, in UTC', () => {
  expect([formatPeriod('2026-11-01'), formatPeriod('2026-11'), formatPeriod('x')]).toEqual([
    'Nov 1',
    'Nov 2026',
    '',
  ])
  expect([describeRateUnit('1s'), describeRateUnit('1m')]).toEqual(['requests per second', 'requests per 1m'])
})

test('summarizes the usage history with its busiest period', () => {
  expect(describeHistory(days(0, 0))).toBe('No recipients in this period.')
  expect(describeHistory(days(0, 1))).toBe('1 recipient in total. Busiest: Nov 2 with 1.')
  expect(describeHistory(days(500, 1500, 10))).toBe('2,010 recipients in total. Busiest: Nov 2 with 1,500.')
})

test('scales usage bars, and draws a limit if it is in range', () => {
  expect(computeBars(days(5, 10), null)).toMatchObject({
    top: 10,
    limitAt: null,
    bars: [
      { height: 50, over: false },
      { height: 100, over: false },
    ],
  })
  expect(computeBars(days(5, 10), 20)).toMatchObject({
    top: 20,
    limitAt: 100,
    bars: [{ height: 25 }, { height: 50 }],
  })
  expect(computeBars(days(5, 10), 8)).toMatchObject({
    top: 10,
    limitAt: 80,
    bars: [{ over: false }, { over: true }],
  })
  expect(computeBars(days(5, 10), 1000)).toMatchObject({ top: 10, limitAt: null })
  expect(computeBars(days(0), null)).toMatchObject({ top: 1, bars: [{ height: 0 }] })
})
