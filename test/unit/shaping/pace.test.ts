import { describe, expect, test } from 'vitest'
import { loadProviders } from '../../../appliance/config/config.ts'
import { Providers, parseLane, serializeLane } from '../../../appliance/shaping/shaping.ts'
import {
  bucketLimit,
  fixedLimit,
  runLane,
  slidingLimit,
  until,
  type HiddenLimit,
  type MinuteOfLane,
} from '../../world/hidden-limit.ts'

const start = Date.UTC(2026, 10, 21, 12, 0, 0)
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const provider = new Providers(loadProviders({ connections: 10 })).get('hosting.example')

type Refusal = Parameters<typeof runLane>[0]['refusal']

/** Refusals: one that says the rate is too high, and one without a reason. */
const refusals = {
  'Too many messages': {
    said: { code: 450, enhanced: '4.7.1', text: 'Too many messages' },
    note: 'it temporarily accepts no more mail from this server (rate limit)',
    asks: { kind: 'slow', minutes: 15 },
  },
  'Service not available': {
    said: { code: 421, enhanced: '4.3.2', text: 'Service not available' },
    note: 'it cannot accept the message right now',
  },
} satisfies Record<string, Refusal>
const words = Object.entries(refusals)

const run = (server: HiddenLimit, minutes: number, refusal: Refusal = refusals['Too many messages']) =>
  runLane({ provider, server, minutes, start, refusal })
const sum = (minutes: readonly MinuteOfLane[], of: 'accepted' | 'refused'): number =>
  minutes.reduce((total, one) => total + one[of], 0)

describe.each(words)('rate control towards a server that replies "%s"', (_, refusal) => {
  test.each([
    ['10 in any minute', slidingLimit, 10, 0.85],
    ['10 in each minute of the clock', fixedLimit, 10, 0.85],
    ['60 in any minute', slidingLimit, 60, 0.9],
    ['60 in each minute of the clock', fixedLimit, 60, 0.9],
    ['60 from a bucket', bucketLimit, 60, 0.9],
    ['600 in any minute', slidingLimit, 600, 0.9],
    ['600 from a bucket', bucketLimit, 600, 0.9],
  ] as const)('learns a hidden limit of %s, uses it and rarely exceeds it', (__, limit, most, share) => {
    const minutes = runLane({ provider, server: limit(most, MINUTE), minutes: 60, start, refusal })
    const settled = minutes.slice(20)
    expect(sum(settled, 'accepted') / settled.length).toBeGreaterThan(share * most)
    expect(sum(settled, 'refused')).toBeLessThanOrEqual(12)
    // The first burst reaches the limit with a message on each connection.
    expect(sum(minutes.slice(0, 20), 'refused')).toBeLessThanOrEqual(20)
  })

  test.each([
    ['100 in any hour', slidingLimit, 100],
    ['100 in each hour of the clock', fixedLimit, 100],
    ['600 in any hour', slidingLimit, 600],
    ['600 in each hour of the clock', fixedLimit, 600],
  ] as const)('spreads a hidden limit of %s over the hour', (__, limit, most) => {
    const minutes = runLane({ provider, server: limit(most, HOUR), minutes: 6 * 60, start, refusal })
    const settled = minutes.slice(2 * 60)
    expect(sum(settled, 'accepted')).toBeGreaterThan(4 * 0.7 * most)
    expect(Math.max(...settled.map(({ accepted }) => accepted))).toBeLessThan(most / 10)
    expect(sum(settled, 'refused')).toBeLessThanOrEqual(40)
  })

  test('a lane returns to full speed within 45 minutes after a limit is lifted', () => {
    const lifted = start + 2 * HOUR
    const server = until(lifted, slidingLimit(60, MINUTE), () => true)
    const minutes = runLane({ provider, server, minutes: 3 * 60, start, refusal })
    expect(minutes[120 + 45]!.accepted).toBeGreaterThan(5000)
  })

  test('a lane learns a lowered limit', () => {
    const lowered = start + HOUR
    const server = until(lowered, slidingLimit(600, MINUTE), slidingLimit(60, MINUTE))
    const minutes = runLane({ provider, server, minutes: 2 * 60, start, refusal })
    const settled = minutes.slice(80)
    expect(sum(settled, 'accepted') / settled.length).toBeGreaterThan(50)
    expect(sum(minutes.slice(60), 'refused')).toBeLessThanOrEqual(30)
  })
})

test('a learned limit survives a restart', () => {
  const server = slidingLimit(60, MINUTE)
  const refusal = refusals['Too many messages']
  const minutes = runLane({
    provider,
    server,
    minutes: 12,
    start,
    refusal,
    eachMinute: (state) => parseLane(serializeLane(state), provider.limits),
  })
  expect(minutes).toEqual(run(slidingLimit(60, MINUTE), 12))
  expect(sum(minutes.slice(1), 'refused')).toBe(0)
})

test('a lane without a provider limit reaches full speed', () => {
  const minutes = run(() => true, 3)
  expect(sum(minutes, 'refused')).toBe(0)
  expect(minutes[2]!.accepted).toBeGreaterThan(5000)
})

test('a rejection in a lane with little traffic does not slow it down for long', () => {
  const server = until(
    start + MINUTE,
    () => false,
    () => true,
  )
  const minutes = run(server, 60, refusals['Service not available'])
  expect(minutes[30]!.accepted).toBeGreaterThan(5000)
})
