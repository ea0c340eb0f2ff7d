import { expect, test } from 'vitest'
import { barsOf, historyWords, limitOf, periodWords, rateWords } from '../../../ui/src/state/usage.ts'

const days = (...used: number[]) => used.map((count, i) => ({ period: `2026-11-0${i + 1}`, used: count }))

test('the largest integer means no limit', () => {
  expect([limitOf(Number.MAX_SAFE_INTEGER), limitOf(null), limitOf(0)]).toEqual([null, null, 0])
})

test('usage periods are in UTC and described in words', () => {
  expect([periodWords('2026-11-01'), periodWords('2026-11'), periodWords('x')]).toEqual([
    'Nov 1',
    'Nov 2026',
    '',
  ])
  expect([rateWords('1s'), rateWords('1m')]).toEqual(['requests per second', 'requests per 1m'])
})

test('usage history is summarized with its busiest period', () => {
  expect(historyWords(days(0, 0))).toBe('No recipients in this period.')
  expect(historyWords(days(0, 1))).toBe('1 recipient in total. Busiest: Nov 2 with 1.')
  expect(historyWords(days(500, 1500, 10))).toBe('2,010 recipients in total. Busiest: Nov 2 with 1,500.')
})

test('usage bars are scaled, and a limit is drawn if it is in range', () => {
  expect(barsOf(days(5, 10), null)).toMatchObject({
    top: 10,
    limitAt: null,
    bars: [
      { height: 50, over: false },
      { height: 100, over: false },
    ],
  })
  expect(barsOf(days(5, 10), 20)).toMatchObject({
    top: 20,
    limitAt: 100,
    bars: [{ height: 25 }, { height: 50 }],
  })
  expect(barsOf(days(5, 10), 8)).toMatchObject({
    top: 10,
    limitAt: 80,
    bars: [{ over: false }, { over: true }],
  })
  expect(barsOf(days(5, 10), 1000)).toMatchObject({ top: 10, limitAt: null })
  expect(barsOf(days(0), null)).toMatchObject({ top: 1, bars: [{ height: 0 }] })
})
