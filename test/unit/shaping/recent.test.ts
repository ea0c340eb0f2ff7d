import { describe, expect, test } from 'vitest'
import { RECENT_MINUTES } from '../../../appliance/shaping/recent.ts'
import { RecentMessages } from '../../../appliance/shaping/shaping.ts'

const MINUTE = 60_000
const T0 = 29_000_000 * MINUTE

const filled = (recent: RecentMessages, now: number): [minutesAgo: number, count: number][] =>
  recent
    .minutes(now)
    .map((count, at): [number, number] => [RECENT_MINUTES - 1 - at, count])
    .filter(([, count]) => count > 0)

describe('recent message counts', () => {
  test('keeps recent counts per clock minute, the oldest first', () => {
    const recent = new RecentMessages()
    recent.count(T0)
    recent.count(T0 + 59_999)
    recent.count(T0 + 3 * MINUTE)
    expect(filled(recent, T0 + 3 * MINUTE)).toEqual([
      [3, 2],
      [0, 1],
    ])
    expect(recent.minutes(T0)).toHaveLength(RECENT_MINUTES)
  })

  test('recent counts expire after an hour, even if not read in the meantime', () => {
    const recent = new RecentMessages()
    recent.count(T0)
    recent.count(T0 + 30 * MINUTE)
    expect(filled(recent, T0 + 59 * MINUTE)).toEqual([
      [59, 1],
      [29, 1],
    ])
    expect(filled(recent, T0 + 60 * MINUTE)).toEqual([[30, 1]])
    expect(filled(recent, T0 + 10_000 * MINUTE)).toEqual([])
  })

  test('the count of the last 60 seconds weights the previous minute proportionally', () => {
    const recent = new RecentMessages()
    for (let i = 0; i < 60; i += 1) recent.count(T0)
    for (let i = 0; i < 5; i += 1) recent.count(T0 + MINUTE)
    expect(recent.lastMinute(T0 + MINUTE)).toBe(65)
    expect(recent.lastMinute(T0 + MINUTE + 30_000)).toBe(35)
    expect(recent.lastMinute(T0 + 2 * MINUTE)).toBe(5)
    expect(recent.lastMinute(T0 + 3 * MINUTE)).toBe(0)
  })

  test('recent counts are kept when the clock is set back', () => {
    const recent = new RecentMessages()
    recent.count(T0 + 5 * MINUTE)
    recent.count(T0)
    expect(filled(recent, T0)).toEqual([[0, 2]])
  })
})
