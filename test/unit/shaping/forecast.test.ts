import { expect, test } from 'vitest'
import { forecastFor, hoursFor, supplyOf, turnsOf, wholeOf } from '../../../appliance/shaping/forecast.ts'

const limits = {
  ...{ connections: 10, messagesPerConnection: 100, messagesPerMinute: 60 },
  ...{ recipientsPerMessage: 1, idleSeconds: 5 },
}
const lane = (more: object) => ({ allowed: { messagesPerMinute: 20 }, paused: null, warmUp: null, ...more })

test('the rates of all sources add up', () => {
  expect(hoursFor(7200, [{ rate: 60, days: [] }], 1440)).toBe(2)
  expect(
    hoursFor(
      7200,
      [
        { rate: 60, days: [] },
        { rate: 60, days: [] },
      ],
      1440,
    ),
  ).toBe(1)
  expect(hoursFor(0, [{ rate: 60, days: [] }], 1440)).toBe(0)
})

test('a warm-up spreads it over days', () => {
  const warming = { rate: 10, days: [100, 200, 1000] }
  expect(hoursFor(100, [warming], 600)).toBe(0.2)
  // 100 today, 200 tomorrow, the rest on the third day.
  expect(hoursFor(900, [warming], 600)).toBe(35)
})

test('without a source, or in more than 60 days, nobody knows', () => {
  expect(hoursFor(1, [], 1440)).toBeNull()
  expect(hoursFor(1, [{ rate: 0, days: [] }], 1440)).toBeNull()
  expect(hoursFor(1e9, [{ rate: 1, days: [] }], 1440)).toBeNull()
})

test('what a lane allows now counts, or the limits where nothing was sent yet', () => {
  expect(supplyOf(limits, undefined, [50, 100], null)).toEqual({ rate: 60, days: [] })
  const [first, second] = [
    { day: 1, left: 50 },
    { day: 2, left: 100 },
  ]
  expect(supplyOf(limits, undefined, [50, 100], first)).toEqual({ rate: 60, days: [50, 100] })
  // An IP that warms up since yesterday may send the second day's share to a provider that is new to it.
  expect(supplyOf(limits, undefined, [50, 100, 200], second)).toEqual({ rate: 60, days: [100, 200] })
  expect(supplyOf(limits, lane({}), [50, 100], first)).toEqual({ rate: 20, days: [] })
  expect(supplyOf(limits, lane({ warmUp: { day: 1, left: 7 } }), [50, 100], first)).toEqual({
    ...{ rate: 20, days: [7, 100] },
  })
  expect(supplyOf(limits, lane({ paused: {} }), [], null)).toEqual({ rate: 0, days: [] })
})

test('with a rate, providers take turns, and small ones are done first', () => {
  expect(turnsOf([10, 100], 10)).toEqual([2, 11])
  expect(turnsOf([100, 10, 10], 12)).toEqual([10, 2.5, 2.5])
})

test('what makes a provider take long is named', () => {
  const asked = { name: 'Google', messages: 900, turns: 0 }
  const warming = { rate: 10, days: [100, 200, 1000] }
  expect(forecastFor(asked, [warming], 600)).toEqual({ name: 'Google', hours: 35, limitedBy: 'warm_up' })
  expect(forecastFor(asked, [{ rate: 10, days: [] }], 600)).toMatchObject({ hours: 1.5, limitedBy: 'lanes' })
  expect(forecastFor({ ...asked, turns: 90 }, [warming], 600)).toMatchObject({ hours: 90, limitedBy: 'rate' })
  expect(forecastFor(asked, [], 600)).toEqual({ name: 'Google', hours: null, limitedBy: null })
})

test('the whole takes as long as the slowest provider, or as the rate', () => {
  const made = (name: string, hours: number | null) => ({ name, hours, limitedBy: null })
  const all = [made('Google', 35), made('Yahoo', 2), made('', null)]
  expect(wholeOf(all, [900, 50, 50], null).hours).toBe(35)
  expect(wholeOf(all, [900, 50, 50], 10).hours).toBe(100)
  expect(wholeOf([...all, made('GMX', null)], [1, 1, 1, 1], null).hours).toBeNull()
  expect(wholeOf([made('', null)], [1], null).hours).toBeNull()
})
