import { describe, expect, test } from 'vitest'
import { describeLaneReason } from '../../../appliance/mail/waiting.ts'
import { loadProviders } from '../../../appliance/config/config.ts'
import {
  createLaneState,
  Providers,
  applyWarmUpSetback,
  getWarmUpProgress,
  type LaneState,
} from '../../../appliance/shaping/shaping.ts'

const day = 86_400_000
/** A day of the plan starts at midnight. The warm-up started in the afternoon. */
const since = Date.UTC(2026, 10, 1, 15)
const at = (dayOfPlan: number): number => Date.UTC(2026, 10, dayOfPlan, 9)
const provider = {
  ...new Providers(loadProviders({ connections: 10 })).get('google'),
  warmUp: [50, 100, 200, 400],
}

/** Returns a lane on a day of its plan, with that day's sent and complained counts. */
function lane(dayOfPlan: number, sent: number, complained: number, warmUp?: LaneState['warmUp']): LaneState {
  const today = { day: new Date(at(dayOfPlan)).toISOString().slice(0, 10), sent, complained }
  return { ...createLaneState(provider.limits), today, ...(warmUp && { warmUp }) }
}

const goodBefore = { since: null, setbacks: 0, badDay: null }
const share = (state: LaneState, now: number) => getWarmUpProgress(state, since, provider.warmUp, now)?.share

describe('the daily warm-up review', () => {
  test.each<[string, number, LaneState, boolean, (number | undefined)[]]>([
    // The shares of that day and of the next.
    ['raises the share without complaints', 2, lane(2, 100, 0), false, [100, 200]],
    ['raises the share with 10% complaints', 2, lane(2, 100, 10), false, [100, 200]],
    [
      'lowers the share to the previous day with more than 10% complaints',
      2,
      lane(2, 100, 11),
      false,
      [50, 100],
    ],
    ['raises the share below 50 messages', 2, lane(2, 49, 49), false, [100, 200]],
    ['lowers the share with complaints from 50 messages', 2, lane(2, 50, 6), false, [50, 100]],
    ['lowers the share after a provider pause', 3, lane(3, 1, 1), true, [100, 200]],
    ['repeats a bad first day', 1, lane(1, 50, 50), false, [50, 50]],
    [
      'lowers the share only once a day',
      3,
      lane(3, 200, 200, { since, setbacks: 1, badDay: '2026-11-03' }),
      true,
      [100, 200],
    ],
    [
      'a second bad day adds to the first',
      4,
      lane(4, 100, 50, { since, setbacks: 1, badDay: '2026-11-02' }),
      false,
      [100, 200],
    ],
    [
      'setbacks of an earlier warm-up count no more',
      2,
      lane(2, 100, 11, { since: since - 90 * day, setbacks: 3, badDay: '2026-11-02' }),
      false,
      [50, 100],
    ],
    ['ignores a finished plan', 5, lane(5, 1000, 1000), true, [undefined, undefined]],
  ])('the daily review %s', (_, dayOfPlan, state, paused, expected) => {
    const now = at(dayOfPlan)
    const judged = applyWarmUpSetback(state, { since, paused }, provider, now)
    expect([share(judged, now), share(judged, now + day)]).toEqual(expected)
  })

  test('the daily review ignores a sending IP without warm-up', () => {
    const state = lane(2, 100, 100)
    expect(applyWarmUpSetback(state, { since: null, paused: true }, provider, at(2))).toBe(state)
  })

  test('the daily review records the reason for a reduced limit', () => {
    const judged = applyWarmUpSetback(lane(2, 100, 11, goodBefore), { since, paused: false }, provider, at(2))
    expect(describeLaneReason(judged.reason!, 'Google')).toBe(
      'the warm-up limit for Google was reduced to 50 messages a day: 11 of 100 messages were refused',
    )
    expect(judged.reasonAt).toBe(at(2))
  })
})
