import { describe, expect, test } from 'vitest'
import {
  splitAroundTime,
  formatDuration,
  formatExactTime,
  parseInstant,
  formatRelativeTime,
  formatSpan,
} from '../../../ui/src/state/time.ts'

describe('timestamps', () => {
  test('parses timestamps in the format of the REST API to the millisecond', () => {
    expect(parseInstant('2026-11-20 20:39:59.540771+00')).toBe(Date.UTC(2026, 10, 20, 20, 39, 59, 540))
    expect(parseInstant('2026-11-20 20:39:59.5+00')).toBe(Date.UTC(2026, 10, 20, 20, 39, 59, 500))
    expect(parseInstant('2026-11-20 20:39:59+00')).toBe(Date.UTC(2026, 10, 20, 20, 39, 59))
    expect(parseInstant('2026-11-20T20:39:59.540Z')).toBe(Date.UTC(2026, 10, 20, 20, 39, 59, 540))
    expect(parseInstant('yesterday')).toBeNaN()
  })

  test('formats timestamps in UTC without an offset', () => {
    expect(formatExactTime(Date.UTC(2026, 0, 2, 3, 4, 5), true)).toBe('2026-01-02 03:04:05')
  })
})

describe('time differences', () => {
  test('time differences use the largest whole unit, in both directions', () => {
    expect(formatSpan(59_999)).toBe('59 s')
    expect(formatSpan(60_000)).toBe('1 min')
    expect(formatRelativeTime(0, 7_200_000)).toBe('2 h ago')
    expect(formatRelativeTime(3 * 86_400_000, 0)).toBe('in 3 d')
    expect(formatRelativeTime(500, 0)).toBe('now')
  })

  test('durations keep a useful precision', () => {
    expect([0.44, 12.6, 1240, 185_900, 7_500_000].map(formatDuration)).toEqual([
      '0.4 ms',
      '13 ms',
      '1.24 s',
      '3 min 5 s',
      '2 h 5 min',
    ])
  })
})

describe('a server sentence with a time', () => {
  const at = Date.UTC(2026, 10, 20, 15, 1, 40, 7)
  const why = ': Yahoo replied TSS04 at 13:01 UTC'

  test.each([
    ['waits until 15:01 UTC', ['waits until ', '']],
    ['waits until 2026-11-20 15:01 UTC', ['waits until ', '']],
    ['waits until 15:01 UTC: paused until 15:01 UTC', ['waits until ', ': paused until ', '']],
    [`waits until 15:01 UTC${why}`, ['waits until ', why]],
    ['waits until 2026-11-19 15:01 UTC', ['waits until 2026-11-19 15:01 UTC']],
    ['next in line', ['next in line']],
  ])('splits a server sentence at the time: %s', (sentence, pieces) => {
    expect(splitAroundTime(sentence, at)).toEqual(pieces)
  })

  test('does not split a server sentence if the time is invalid', () => {
    expect(splitAroundTime('waits until 15:01 UTC', NaN)).toEqual(['waits until 15:01 UTC'])
  })
})
