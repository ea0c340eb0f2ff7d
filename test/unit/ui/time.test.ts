import { describe, expect, test } from 'vitest'
import { aroundTime, duration, exact, instant, relative, span } from '../../../ui/src/state/time.ts'

describe('timestamps', () => {
  test('in the format of the REST API are parsed to the millisecond', () => {
    expect(instant('2026-11-20 20:39:59.540771+00')).toBe(Date.UTC(2026, 10, 20, 20, 39, 59, 540))
    expect(instant('2026-11-20 20:39:59.5+00')).toBe(Date.UTC(2026, 10, 20, 20, 39, 59, 500))
    expect(instant('2026-11-20 20:39:59+00')).toBe(Date.UTC(2026, 10, 20, 20, 39, 59))
    expect(instant('2026-11-20T20:39:59.540Z')).toBe(Date.UTC(2026, 10, 20, 20, 39, 59, 540))
    expect(instant('yesterday')).toBeNaN()
  })

  test('in UTC are formatted without an offset', () => {
    expect(exact(Date.UTC(2026, 0, 2, 3, 4, 5), true)).toBe('2026-01-02 03:04:05')
  })
})

describe('time differences', () => {
  test('use the largest whole unit, in both directions', () => {
    expect(span(59_999)).toBe('59 s')
    expect(span(60_000)).toBe('1 min')
    expect(relative(0, 7_200_000)).toBe('2 h ago')
    expect(relative(3 * 86_400_000, 0)).toBe('in 3 d')
    expect(relative(500, 0)).toBe('now')
  })

  test('as durations keep a useful precision', () => {
    expect([0.44, 12.6, 1240, 185_900, 7_500_000].map(duration)).toEqual([
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
  ])('is split at the time: %s', (sentence, pieces) => {
    expect(aroundTime(sentence, at)).toEqual(pieces)
  })

  test('is not split if the time is invalid', () => {
    expect(aroundTime('waits until 15:01 UTC', NaN)).toEqual(['waits until 15:01 UTC'])
  })
})
