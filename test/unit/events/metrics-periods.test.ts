import * as fc from '../../world/fast-check.ts'
import { describe, expect, test } from 'vitest'
import {
  toInstant,
  listPeriods,
  findZone,
  type Granularity,
} from '../../../appliance/events/metrics-periods.ts'
import { GRANULARITIES } from '../../../appliance/api/metrics.ts'

const HOUR = 3_600_000
const at = (text: string): number => Date.parse(text)
const starts = (zone: string, granularity: Granularity, start: string, end: string) =>
  listPeriods({ start: at(start), end: at(end) }, granularity, findZone(zone)!, 10_000)?.map((period) =>
    new Date(period.start).toISOString(),
  )

describe('metrics periods', () => {
  test('daily periods in UTC start at midnight', () => {
    expect(starts('UTC', 'daily', '2026-07-01T10:00Z', '2026-07-03T00:00Z')).toEqual([
      '2026-07-01T00:00:00.000Z',
      '2026-07-02T00:00:00.000Z',
    ])
  })

  test('daily periods in a zone 5:45 ahead of UTC start at local midnight', () => {
    expect(starts('Asia/Kathmandu', 'daily', '2026-07-01T00:00Z', '2026-07-02T00:00Z')).toEqual([
      '2026-06-30T18:15:00.000Z',
      '2026-07-01T18:15:00.000Z',
    ])
  })

  test('daily periods have 23 or 25 hours when the clocks change', () => {
    const spring = starts('Europe/Berlin', 'daily', '2026-03-28T23:00Z', '2026-03-30T12:00Z')
    expect(spring).toEqual(['2026-03-28T23:00:00.000Z', '2026-03-29T22:00:00.000Z'])
    const autumn = starts('Europe/Berlin', 'daily', '2026-10-24T22:00Z', '2026-10-26T12:00Z')
    expect(autumn).toEqual(['2026-10-24T22:00:00.000Z', '2026-10-25T23:00:00.000Z'])
  })

  test('hourly periods include both hours when the clock is set back', () => {
    expect(starts('Europe/Berlin', 'hourly', '2026-10-25T00:00Z', '2026-10-25T02:00Z')).toEqual([
      '2026-10-25T00:00:00.000Z',
      '2026-10-25T01:00:00.000Z',
    ])
  })

  test('hourly periods in a half-hour zone start at half past', () => {
    expect(starts('Asia/Kolkata', 'hourly', '2026-07-01T00:00Z', '2026-07-01T01:00Z')).toEqual([
      '2026-06-30T23:30:00.000Z',
      '2026-07-01T00:30:00.000Z',
    ])
  })

  test('a day can start at one o’clock if the clocks skip midnight', () => {
    const beirut = findZone('Asia/Beirut')!
    expect(new Date(toInstant(at('2026-03-29T00:00Z'), beirut)).toISOString()).toBe(
      '2026-03-28T22:00:00.000Z',
    )
  })

  test('weekly periods start on Monday, and monthly periods on the first', () => {
    expect(starts('America/New_York', 'weekly', '2026-07-01T12:00Z', '2026-07-07T12:00Z')).toEqual([
      '2026-06-29T04:00:00.000Z',
      '2026-07-06T04:00:00.000Z',
    ])
    expect(starts('America/New_York', 'monthly', '2026-02-15T12:00Z', '2026-03-15T12:00Z')).toEqual([
      '2026-02-01T05:00:00.000Z',
      '2026-03-01T05:00:00.000Z',
    ])
  })

  test('daily periods omit a day that a zone skipped', () => {
    expect(starts('Pacific/Apia', 'daily', '2011-12-29T12:00Z', '2011-12-31T12:00Z')).toEqual([
      '2011-12-29T10:00:00.000Z',
      '2011-12-30T10:00:00.000Z',
      '2011-12-31T10:00:00.000Z',
    ])
  })

  test('rejects a range with more than the maximum number of periods', () => {
    const range = { start: 0, end: 11 * HOUR }
    expect(listPeriods(range, 'hourly', findZone('UTC')!, 10)).toBeUndefined()
    expect(listPeriods({ start: 0, end: 10 * HOUR }, 'hourly', findZone('UTC')!, 10)).toHaveLength(10)
    expect(listPeriods({ start: 0, end: 8e15 }, 'hourly', findZone('UTC')!, 10_000)).toBeUndefined()
  })

  test('uses the zone’s offset, which may be negative or include seconds', () => {
    const offsets = (
      [
        ['GMT', '2026-07-01T00:00Z'],
        ['Asia/Kathmandu', '2026-07-01T00:00Z'],
        ['America/St_Johns', '2026-07-01T00:00Z'],
        ['Africa/Monrovia', '1971-06-01T00:00Z'],
        ['Europe/Amsterdam', '1850-01-01T00:00Z'],
      ] as const
    ).map(([zone, time]) => findZone(zone)!.offsetAt(at(time)) / 1000)
    expect(offsets).toEqual([0, 20_700, -9000, -2670, 1050])
  })

  test('rejects an invalid time zone name', () => {
    for (const name of ['', 'Mars/Phobos', '+02:00', 'UTC+1', '../etc/passwd'])
      expect(findZone(name)).toBeUndefined()
  })

  const zones = [
    'UTC',
    'Asia/Kathmandu',
    'Australia/Lord_Howe',
    'America/St_Johns',
    'Africa/Cairo',
    'Pacific/Chatham',
  ]
  test('periods have no gaps, cover the range, and start at quarter hours', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.constantFrom(...GRANULARITIES),
        fc.integer({ min: at('2015-01-01'), max: at('2030-01-01') }),
        fc.integer({ min: 0, max: 40 * 24 * HOUR }),
        (zone, granularity, start, length) => {
          const periods = listPeriods({ start, end: start + length }, granularity, findZone(zone)!, 10_000)!
          expect(periods[0]!.start).toBeLessThanOrEqual(start)
          expect(periods.at(-1)!.end).toBeGreaterThanOrEqual(start + length)
          periods.forEach((period, index) => {
            expect(period.start % 900_000).toBe(0)
            expect(period.end).toBeGreaterThan(period.start)
            if (index > 0) expect(period.start).toBe(periods[index - 1]!.end)
          })
        },
      ),
      { numRuns: 200 },
    )
  })
})
