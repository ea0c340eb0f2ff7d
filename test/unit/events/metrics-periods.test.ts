import * as fc from '../../world/fast-check.ts'
import { describe, expect, test } from 'vitest'
import { instantOf, periodsOf, zoneOf, type Granularity } from '../../../appliance/events/metrics-periods.ts'
import { GRANULARITIES } from '../../../appliance/api/metrics.ts'

const HOUR = 3_600_000
const at = (text: string): number => Date.parse(text)
const starts = (zone: string, granularity: Granularity, start: string, end: string) =>
  periodsOf({ start: at(start), end: at(end) }, granularity, zoneOf(zone)!, 10_000)?.map((period) =>
    new Date(period.start).toISOString(),
  )

describe('metrics periods', () => {
  test('are days in UTC', () => {
    expect(starts('UTC', 'daily', '2026-07-01T10:00Z', '2026-07-03T00:00Z')).toEqual([
      '2026-07-01T00:00:00.000Z',
      '2026-07-02T00:00:00.000Z',
    ])
  })

  test('are days in a zone 5:45 ahead of UTC', () => {
    expect(starts('Asia/Kathmandu', 'daily', '2026-07-01T00:00Z', '2026-07-02T00:00Z')).toEqual([
      '2026-06-30T18:15:00.000Z',
      '2026-07-01T18:15:00.000Z',
    ])
  })

  test('are days of 23 and 25 hours when the clocks change', () => {
    const spring = starts('Europe/Berlin', 'daily', '2026-03-28T23:00Z', '2026-03-30T12:00Z')
    expect(spring).toEqual(['2026-03-28T23:00:00.000Z', '2026-03-29T22:00:00.000Z'])
    const autumn = starts('Europe/Berlin', 'daily', '2026-10-24T22:00Z', '2026-10-26T12:00Z')
    expect(autumn).toEqual(['2026-10-24T22:00:00.000Z', '2026-10-25T23:00:00.000Z'])
  })

  test('include both hours when the clock is set back', () => {
    expect(starts('Europe/Berlin', 'hourly', '2026-10-25T00:00Z', '2026-10-25T02:00Z')).toEqual([
      '2026-10-25T00:00:00.000Z',
      '2026-10-25T01:00:00.000Z',
    ])
  })

  test('are hours that start at half past in a half-hour zone', () => {
    expect(starts('Asia/Kolkata', 'hourly', '2026-07-01T00:00Z', '2026-07-01T01:00Z')).toEqual([
      '2026-06-30T23:30:00.000Z',
      '2026-07-01T00:30:00.000Z',
    ])
  })

  test("can start a day at one o'clock, if the clocks skip midnight", () => {
    const beirut = zoneOf('Asia/Beirut')!
    expect(new Date(instantOf(at('2026-03-29T00:00Z'), beirut)).toISOString()).toBe(
      '2026-03-28T22:00:00.000Z',
    )
  })

  test('are weeks from Monday and months from the first', () => {
    expect(starts('America/New_York', 'weekly', '2026-07-01T12:00Z', '2026-07-07T12:00Z')).toEqual([
      '2026-06-29T04:00:00.000Z',
      '2026-07-06T04:00:00.000Z',
    ])
    expect(starts('America/New_York', 'monthly', '2026-02-15T12:00Z', '2026-03-15T12:00Z')).toEqual([
      '2026-02-01T05:00:00.000Z',
      '2026-03-01T05:00:00.000Z',
    ])
  })

  test('omit a day that a zone skipped', () => {
    expect(starts('Pacific/Apia', 'daily', '2011-12-29T12:00Z', '2011-12-31T12:00Z')).toEqual([
      '2011-12-29T10:00:00.000Z',
      '2011-12-30T10:00:00.000Z',
      '2011-12-31T10:00:00.000Z',
    ])
  })

  test('are rejected beyond the maximum number', () => {
    const range = { start: 0, end: 11 * HOUR }
    expect(periodsOf(range, 'hourly', zoneOf('UTC')!, 10)).toBeUndefined()
    expect(periodsOf({ start: 0, end: 10 * HOUR }, 'hourly', zoneOf('UTC')!, 10)).toHaveLength(10)
    expect(periodsOf({ start: 0, end: 8e15 }, 'hourly', zoneOf('UTC')!, 10_000)).toBeUndefined()
  })

  test("use the zone's offset, which may be negative or include seconds", () => {
    const offsets = (
      [
        ['GMT', '2026-07-01T00:00Z'],
        ['Asia/Kathmandu', '2026-07-01T00:00Z'],
        ['America/St_Johns', '2026-07-01T00:00Z'],
        ['Africa/Monrovia', '1971-06-01T00:00Z'],
        ['Europe/Amsterdam', '1850-01-01T00:00Z'],
      ] as const
    ).map(([zone, time]) => zoneOf(zone)!.offsetAt(at(time)) / 1000)
    expect(offsets).toEqual([0, 20_700, -9000, -2670, 1050])
  })

  test('are not available for an invalid time zone name', () => {
    for (const name of ['', 'Mars/Phobos', '+02:00', 'UTC+1', '../etc/passwd'])
      expect(zoneOf(name)).toBeUndefined()
  })

  const zones = [
    'UTC',
    'Asia/Kathmandu',
    'Australia/Lord_Howe',
    'America/St_Johns',
    'Africa/Cairo',
    'Pacific/Chatham',
  ]
  test('have no gaps, cover the range, and start at quarters of an hour', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.constantFrom(...GRANULARITIES),
        fc.integer({ min: at('2015-01-01'), max: at('2030-01-01') }),
        fc.integer({ min: 0, max: 40 * 24 * HOUR }),
        (zone, granularity, start, length) => {
          const periods = periodsOf({ start, end: start + length }, granularity, zoneOf(zone)!, 10_000)!
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
