import { expect, test } from 'vitest'
import {
  forecastProvider,
  estimateHours,
  computeSourceCapacity,
  estimateTurnHours,
  forecastTotal,
} from '../../../appliance/shaping/forecast.ts'

const limits = {
  connections: 10,
  messagesPerConnection: 100,
  messagesPerMinute: 60,
  recipientsPerMessage: 1,
  idleSeconds: 5,
}
const lane = (more: object) => ({ allowed: { messagesPerMinute: 20 }, paused: null, warmUp: null, ...more })

test('adds up the rates of all sources', () => {
  expect(estimateHours(7200, [{ rate: 60, days: [] }], 1440)).toBe(2)
  expect(
    estimateHours(
      7200,
      [
        { rate: 60, days: [] },
        { rate: 60, days: [] },
      ],
      1440,
    ),
  ).toBe(1)
  expect(estimateHours(0, [{ rate: 60, days: [] }], 1440)).toBe(0)
})

test('a warm-up spreads the messages over days', () => {
  const warming = { rate: 10, days: [100, 200, 1000] }
  expect(estimateHours(100, [warming], 600)).toBe(0.2)
  // 100 today, 200 tomorrow, the rest on the third day.
  expect(estimateHours(900, [warming], 600)).toBe(35)
})

test('there is no forecast without a source, or beyond 60 days', () => {
  expect(estimateHours(1, [], 1440)).toBeNull()
  expect(estimateHours(1, [{ rate: 0, days: [] }], 1440)).toBeNull()
  expect(estimateHours(1e9, [{ rate: 1, days: [] }], 1440)).toBeNull()
})

test('uses the current rate of a lane, or the limits if nothing was sent yet', () => {
  expect(computeSourceCapacity(limits, undefined, [50, 100], null)).toEqual({ rate: 60, days: [] })
  const [first, second] = [
    { day: 1, left: 50 },
    { day: 2, left: 100 },
  ]
  expect(computeSourceCapacity(limits, undefined, [50, 100], first)).toEqual({ rate: 60, days: [50, 100] })
  // An IP that warms up since yesterday may send the second day's share to a provider that is new to it.
  expect(computeSourceCapacity(limits, undefined, [50, 100, 200], second)).toEqual({
    rate: 60,
    days: [100, 200],
  })
  expect(computeSourceCapacity(limits, lane({}), [50, 100], first)).toEqual({ rate: 20, days: [] })
  expect(computeSourceCapacity(limits, lane({ warmUp: { day: 1, left: 7 } }), [50, 100], first)).toEqual({
    rate: 20,
    days: [7, 100],
  })
  expect(computeSourceCapacity(limits, lane({ paused: {} }), [], null)).toEqual({ rate: 0, days: [] })
})

test('with a rate, providers take turns, and small ones finish first', () => {
  expect(estimateTurnHours([10, 100], 10)).toEqual([2, 11])
  expect(estimateTurnHours([100, 10, 10], 12)).toEqual([10, 2.5, 2.5])
})

test('reports what limits the speed of a provider', () => {
  const asked = { name: 'Google', messages: 900, turns: 0 }
  const warming = { rate: 10, days: [100, 200, 1000] }
  expect(forecastProvider(asked, [warming], 600)).toEqual({ name: 'Google', hours: 35, limitedBy: 'warm_up' })
  expect(forecastProvider(asked, [{ rate: 10, days: [] }], 600)).toMatchObject({
    hours: 1.5,
    limitedBy: 'lanes',
  })
  expect(forecastProvider({ ...asked, turns: 90 }, [warming], 600)).toMatchObject({
    hours: 90,
    limitedBy: 'rate',
  })
  expect(forecastProvider(asked, [], 600)).toEqual({ name: 'Google', hours: null, limitedBy: null })
})

test('the total takes as long as the slowest provider, or as the rate requires', () => {
  const made = (name: string, hours: number | null) => ({ name, hours, limitedBy: null })
  const all = [made('Google', 35), made('Yahoo', 2), made('', null)]
  expect(forecastTotal(all, [900, 50, 50], null).hours).toBe(35)
  expect(forecastTotal(all, [900, 50, 50], 10).hours).toBe(100)
  expect(forecastTotal([...all, made('GMX', null)], [1, 1, 1, 1], null).hours).toBeNull()
  expect(forecastTotal([made('', null)], [1], null).hours).toBeNull()
})
