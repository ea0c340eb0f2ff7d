import { beforeAll, describe, expect, test } from 'vitest'
import { loadReceivers } from '../../../appliance/config/config.ts'
import type { SimulationResult } from '../../../appliance/simulation/simulation.ts'
import { PATIENCE } from '../../world/patience.ts'
import { present, receiver, send, source, START } from './present.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

const only = (id: string, volume: number) => ({ composition: new Map([[id, volume]]) })

describe('a campaign to all receivers with the shipped limits', () => {
  let result: SimulationResult

  beforeAll(async () => {
    result = await send(20_000)
  }, PATIENCE)

  test('there are at least 30 receivers, and each gets its mail', () => {
    expect(loadReceivers().length).toBeGreaterThanOrEqual(30)
    expect(result.receivers).toHaveLength(loadReceivers().length)
    const wrong = result.receivers.filter(
      ({ mail, delivered, refused }) => mail === 0 || delivered + refused !== mail,
    )
    expect(wrong).toEqual([])
    const refused = result.receivers.reduce((sum, one) => sum + one.refused, 0)
    expect(refused / 20_000).toBeGreaterThan(0.005)
    expect(refused / 20_000).toBeLessThan(0.015)
  })

  test('no published limit is exceeded', () => {
    expect(result.receivers.flatMap(({ broken }) => broken)).toEqual([])
  })

  test('transactional mail is accepted within two seconds in 95% of cases', () => {
    expect(result.transactional.mail).toBeGreaterThan(20)
    expect(result.transactional.p95).toBeLessThan(2000)
  })

  test('greylisted mail is deferred, then delivered', () => {
    const grey = result.receivers.find(({ id }) => id === 'greylisting')!
    expect(grey.deferrals).toBeGreaterThanOrEqual(grey.delivered)
    expect(grey.finishedAfter).toBeGreaterThan(5 * MINUTE)
  })

  test('the same seed gives the same result, and another seed a different one', async () => {
    const [first, again, other] = [await send(1500), await send(1500), await send(1500, { seed: 2 })]
    expect(again).toEqual(first)
    expect(other).not.toEqual(first)
  })
})

describe('limits', () => {
  test('a wrong setting for connections exceeds the receiver’s limit', async () => {
    const result = await send(2000, {
      ...only('orange', 2000),
      present: present({ providerSettings: [{ provider: 'orange', settings: { connections: 20 } }] }),
    })
    const [orange] = result.receivers
    expect(orange!.broken).toEqual([
      { limit: 'connections', most: 3, seen: 4, source: expect.stringContaining('https://') as string },
    ])
    expect(orange!.deferrals).toBeGreaterThan(0)
    expect(orange!.delivered + orange!.refused).toBe(2000)
  })

  test('a wrong setting for messages per connection exceeds the receiver’s limit', async () => {
    const result = await send(300, {
      ...only('yahoo', 300),
      present: present({
        providerSettings: [{ provider: 'yahoo', settings: { messages_per_connection: 50 } }],
      }),
    })
    expect(result.receivers[0]!.broken).toMatchObject([
      { limit: 'messages_per_connection', most: 20, seen: 21 },
    ])
  })

  test('a wrong rate exceeds the receiver’s limit, and slows the lane', async () => {
    const wrong = present({
      providerSettings: [{ provider: 'comcast', settings: { messages_per_minute: 6000 } }],
    })
    const result = await send(1000, { ...only('comcast', 1000), present: wrong })
    const right = await send(1000, only('comcast', 1000))
    expect(result.receivers[0]!.broken).toMatchObject([{ limit: 'messages_per_minute', most: 360 }])
    expect(right.receivers[0]!.broken).toEqual([])
    expect(result.finishedAfter!).toBeGreaterThan(right.finishedAfter!)
  })

  test('the rate limit of a provider determines how long its mail takes', async () => {
    const result = await send(3600, { ...only('comcast', 3600), mailboxes: { unknown: 0, full: 0 } })
    expect(result.receivers[0]!.peaks.messagesPerMinute).toBeLessThanOrEqual(360)
    expect(result.attemptedAfter! / MINUTE).toBeGreaterThan(9.5)
    expect(result.attemptedAfter! / MINUTE).toBeLessThan(13)
  })

  test('exceeding an estimated limit is not reported as exceeding a published one', async () => {
    const free = receiver('free', {
      connections: { most: 1, reply: '421 Too many connections', source: null },
    })
    const result = await send(100, only('free', 100), [free])
    expect(result.receivers[0]).toMatchObject({ broken: [] })
    expect(result.receivers[0]!.deferrals).toBeGreaterThan(0)
  })
})

describe('sending IPs', () => {
  test('an IP in warm-up sends no more than its plan each day, and the rest later', async () => {
    const warming = present({ sources: [source({ warmUpSince: START })] })
    const result = await send(800, { ...only('gmail', 800), present: warming, transactionalPerHour: 0 })
    const perDay = new Map<number, number>()
    for (const [minute, count] of result.minutes.get('gmail')!) {
      // Days of UTC; the simulation begins at 8:00.
      const day = Math.floor((minute * MINUTE + (START % DAY)) / DAY)
      perDay.set(day, (perDay.get(day) ?? 0) + count)
    }
    const [first, second, third] = [perDay.get(0)!, perDay.get(1)!, perDay.get(2)!]
    expect(first).toBeLessThanOrEqual(50)
    expect(second).toBeLessThanOrEqual(100)
    expect(third).toBeLessThanOrEqual(200)
    expect(first).toBeGreaterThan(45)
    expect(result.finishedAfter!).toBeGreaterThan(3 * DAY)
  })

  test('a new IP without a warm-up plan is deferred by a receiver that does not know it', async () => {
    const warming = present({
      sources: [source({ warmUpSince: START })],
      providerSettings: [{ provider: 't-online', settings: { warm_up: [] } }],
    })
    const result = await send(20, { ...only('t-online', 20), present: warming })
    expect(result.receivers[0]!.deferrals).toBeGreaterThan(0)
    expect(result.receivers[0]!.delivered).toBeGreaterThan(15)
    expect(result.finishedAfter!).toBeGreaterThan(2 * 60 * MINUTE)
  })

  test('two IPs send faster than one', async () => {
    const volume = only('comcast', 2000)
    const sources = [source({}), source({ ip: '192.0.2.2' })]
    const [one, two] = [
      await send(2000, volume),
      await send(2000, { ...volume, present: present({ sources }) }),
    ]
    expect(two.attemptedAfter!).toBeLessThan(0.7 * one.attemptedAfter!)
  })

  test('uses the pool assigned to the stream', async () => {
    const sources = [source({}), source({ ip: '192.0.2.2', pool: 'news' })]
    const assignments = [
      { id: '1', teamId: null, domainId: null, stream: 'broadcast' as const, pool: 'news' },
    ]
    const result = await send(50, { present: present({ sources, assignments }) })
    expect(result.sources).toEqual([{ ip: '192.0.2.2', warmUpSince: null }])
    expect(result.pool).toBe('news')
  })

  test('a suspended IP sends nothing, and the mail remains queued at the end', async () => {
    const sources = [source({ state: 'suspended', stateReason: 'Moved.', suspendedBy: 'operator' })]
    const result = await send(10, { ...only('gmail', 10), present: present({ sources }), days: 1 })
    expect(result.finishedAfter).toBeNull()
    expect(result.receivers[0]).toMatchObject({ delivered: 0, waiting: 10 })
  })
})
