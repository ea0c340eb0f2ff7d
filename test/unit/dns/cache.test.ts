import { describe, expect, test } from 'vitest'
import type { Zone, ZoneServerOptions } from '../../../appliance/sandbox/zone.ts'
import type { TestClock } from '../../world/clock.ts'
import { setUp } from './harness.ts'

describe('the DNS cache', () => {
  const counted = async (zone: Zone, more: Partial<ZoneServerOptions> = {}) => {
    const it = await setUp(zone, more)
    return { ...it, asked: () => it.server.queries.length }
  }
  const later = (clock: TestClock, seconds: number) => clock.advance(seconds * 1000)

  test('the cache keeps an answer for its TTL, and returns the remaining TTL', async () => {
    const { resolver, server, clock, asked } = await counted({ 'x.test': { A: '192.0.2.1', ttl: 100 } })
    await resolver.resolve('x.test', 'A')
    server.set('x.test', { A: '192.0.2.2', ttl: 100 })
    await later(clock, 60)
    const answer = await resolver.resolve('X.test', 'A')
    expect(answer).toEqual({ kind: 'found', records: ['192.0.2.1'], ttl: 40, authentic: false })
    expect(asked()).toBe(1)
    await later(clock, 41)
    expect(await resolver.resolve('x.test', 'A')).toMatchObject({ records: ['192.0.2.2'] })
    expect(asked()).toBe(2)
  })

  test.each([
    [0, 4, 6],
    [1_000_000, 86_300, 86_401],
  ])(
    'the cache keeps an answer with a TTL of %d s for at least 5 s and at most a day',
    async (ttl, still, gone) => {
      const { resolver, clock, asked } = await counted({ 'x.test': { A: '192.0.2.1', ttl } })
      await resolver.resolve('x.test', 'A')
      await later(clock, still)
      await resolver.resolve('x.test', 'A')
      expect(asked()).toBe(1)
      await later(clock, gone - still)
      await resolver.resolve('x.test', 'A')
      expect(asked()).toBe(2)
    },
  )

  test.each(['nope.test', 'x.test'])(
    'the cache keeps the absence of an MX for %s for the SOA minimum',
    async (name) => {
      const { resolver, clock, asked } = await counted({ 'x.test': { A: '192.0.2.1' } }, { negativeTtl: 90 })
      await resolver.resolve(name, 'MX')
      await later(clock, 88)
      expect(await resolver.resolve(name, 'MX')).toMatchObject({ kind: 'absent' })
      expect(asked()).toBe(1)
      await later(clock, 3)
      await resolver.resolve(name, 'MX')
      expect(asked()).toBe(2)
    },
  )

  test('the cache keeps a failure for five seconds', async () => {
    const { resolver, server, clock, asked } = await counted({ 'x.test': 'SERVFAIL' })
    await resolver.resolve('x.test', 'A')
    expect(await resolver.resolve('x.test', 'A')).toMatchObject({ kind: 'failed' })
    expect(asked()).toBe(1)
    server.set('x.test', { A: '192.0.2.1' })
    await later(clock, 5.1)
    expect(await resolver.resolve('x.test', 'A')).toMatchObject({ kind: 'found' })
  })

  test('the cache drops entries stored in the future when the clock is set back', async () => {
    const { resolver, clock, asked } = await counted({ 'x.test': { A: '192.0.2.1' } })
    await resolver.resolve('x.test', 'A')
    await clock.set(clock.now() - 3600_000)
    await resolver.resolve('x.test', 'A')
    expect(asked()).toBe(2)
  })

  test('the cache sends one query for fifty concurrent callers', async () => {
    const { resolver, asked } = await counted({ 'x.test': { A: '192.0.2.1', delayMs: 30 } })
    const answers = await Promise.all(Array.from({ length: 50 }, () => resolver.resolve('x.test', 'A')))
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(asked()).toBe(1)
  })

  test('a caller that modifies its answer does not affect the cache', async () => {
    const { resolver } = await counted({ 'x.test': { A: ['192.0.2.1', '192.0.2.2'] } })
    const [first, second] = await Promise.all([
      resolver.resolve('x.test', 'A'),
      resolver.resolve('x.test', 'A'),
    ])
    if (first.kind === 'found') first.records.length = 0
    expect(second).toMatchObject({ records: ['192.0.2.1', '192.0.2.2'] })
    expect(await resolver.resolve('x.test', 'A')).toMatchObject({ records: ['192.0.2.1', '192.0.2.2'] })
  })
})
