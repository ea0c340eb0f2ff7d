import { expect, test } from 'vitest'
import { hoursFor, supplyOf } from '../../../appliance/shaping/forecast.ts'

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
  expect(supplyOf(limits, undefined, [50, 100], false)).toEqual({ rate: 60, days: [] })
  expect(supplyOf(limits, undefined, [50, 100], true)).toEqual({ rate: 60, days: [50, 100] })
  expect(supplyOf(limits, lane({}), [50, 100], true)).toEqual({ rate: 20, days: [] })
  expect(supplyOf(limits, lane({ warmUp: { day: 1, left: 7 } }), [50, 100], true)).toEqual({
    ...{ rate: 20, days: [7, 100] },
  })
  expect(supplyOf(limits, lane({ paused: {} }), [], false)).toEqual({ rate: 0, days: [] })
})
