import * as fc from '../../world/fast-check.ts'
import { describe, expect, test } from 'vitest'
import { loadProviders } from '../../../appliance/config/config.ts'
import {
  allowed,
  began,
  freshLane,
  isPaused,
  observe,
  opensAt,
  pausedBy,
  Providers,
  readLane,
  resumed,
  roomIn,
  writeLane,
  type LaneState,
  type Signal,
} from '../../../appliance/shaping/shaping.ts'

const noon = Date.UTC(2026, 10, 21, 12, 0, 0)
const minute = 60_000
const providers = new Providers(loadProviders({ connections: 10 }))
const google = providers.get('google')
const yahoo = providers.get('yahoo')
const other = providers.get('hosting.example')

const signal = (kind: Signal['kind'], more: Partial<Signal> = {}): Signal => ({
  kind,
  since: noon,
  said: null,
  note: 'it has had enough',
  recipients: 1,
  final: false,
  ...more,
})
const said = (code: number, text: string, enhanced: string | null = null): Partial<Signal> => ({
  said: { code, enhanced, text },
})
const after = (state: LaneState, signals: Signal[], at = noon, provider = other): LaneState =>
  signals.reduce((before, one) => observe(before, one, provider, at), state)

describe('a lane', () => {
  test('begins with five connections and earns the others, one for each round without complaint', () => {
    let state = freshLane(other.limits)
    const seen: number[] = []
    for (let taken = 0; taken < 60; taken++) {
      seen.push(allowed(state, other.limits, noon).connections)
      state = observe(state, signal('taken'), other, noon)
    }
    expect([...new Set(seen)]).toEqual([5, 6, 7, 8, 9, 10])
    expect(seen.indexOf(10)).toBe(5 + 6 + 7 + 8 + 9)
  })

  test('grows by one step a minute however much it sends meanwhile, so that the provider is asked before it is flooded', () => {
    const cut = after(freshLane(google.limits), [signal('slower')], noon + 1, google)
    const rates: number[] = []
    let state = cut
    for (let at = noon + 1; at <= noon + 3 * minute + 1; at += 1000) {
      state = observe(state, signal('taken', { since: at }), google, at)
      rates.push(allowed(state, google.limits, at).rate)
    }
    expect([...new Set(rates)]).toEqual([6, 66, 126, 186])
    expect(rates.indexOf(66)).toBe(60)
  })

  test('never has more than its provider allows', () => {
    const state = after(freshLane(google.limits), Array<Signal>(500).fill(signal('taken')), noon, google)
    expect(allowed(state, google.limits, noon)).toEqual({ connections: 5, rate: 1200 })
  })

  test('is halved by a complaint, once for all that was under way', () => {
    const busy = freshLane(other.limits)
    const once = observe(busy, signal('slower'), other, noon + 1)
    expect(allowed(once, other.limits, noon).connections).toBe(2)
    const same = after(once, Array<Signal>(5).fill(signal('slower', { since: noon })), noon + 2)
    expect(same).toEqual(once)
    const again = observe(once, signal('slower', { since: noon + 3 }), other, noon + 4)
    expect(allowed(again, other.limits, noon).connections).toBe(1)
    expect(again.reason).toBe(
      'hosting.example gets less since 12:00 UTC (1 connection, 6 messages a minute): it has had enough',
    )
  })

  test('is halved in what it sent, not in a limit that it never reached', () => {
    let state: LaneState = freshLane(other.limits)
    for (let sent = 0; sent < 300; sent++) state = began(state, other.limits, noon + sent * 100)
    const slower = observe(state, signal('slower', { since: noon + 30_000 }), other, noon + 30_001)
    expect(allowed(slower, other.limits, noon).rate).toBe(150)
  })

  test('never falls below one connection and one message in ten seconds', () => {
    const signals = Array.from({ length: 30 }, (_, at) => signal('slower', { since: noon + at }))
    const state = signals.reduce(
      (before, one, at) => observe(before, one, other, noon + at),
      freshLane(other.limits),
    )
    expect(allowed(state, other.limits, noon)).toEqual({ connections: 1, rate: 6 })
  })

  test('learns nothing from what is about the recipient', () => {
    const state = freshLane(other.limits)
    const full = signal('neutral', said(452, 'mailbox is full', '4.2.2'))
    expect(observe(state, full, other, noon)).toEqual(state)
  })

  test('is left alone for longer and longer when nobody answers', () => {
    let state = freshLane(other.limits)
    const pauses: number[] = []
    for (let tries = 0; tries < 11; tries++) {
      const at = noon + tries * 60 * minute
      state = observe(state, signal('silent', { since: at }), other, at)
      if (isPaused(state, at)) pauses.push((state.pause!.until! - at) / minute)
    }
    expect(pauses).toEqual([1, 2, 4, 8, 15, 15, 15])
    expect(isPaused(observe(state, signal('taken'), other, noon + 660 * minute), noon + 660 * minute)).toBe(
      false,
    )
  })
})

describe('a pause', () => {
  const tss04 = signal('reputation', {
    ...said(421, '[TSS04] Messages from 192.0.2.7 temporarily deferred due to unexpected volume', '4.7.0'),
  })

  test('of the table stops the lane and says so, then goes on slowly, then grows', () => {
    const at = noon + 61 * minute
    const paused = observe(freshLane(yahoo.limits), { ...tss04, since: at }, yahoo, at)
    expect(paused.reason).toBe(
      'Yahoo answered TSS04 at 13:01 UTC: it defers this address because of unexpected volume or complaints',
    )
    expect(isPaused(paused, at)).toBe(true)
    expect(roomIn(paused, yahoo.limits, 0, at)).toBe(0)
    const end = at + 120 * minute
    expect(opensAt(paused, at)).toBe(end)
    expect(isPaused(paused, end)).toBe(false)
    expect(allowed(paused, yahoo.limits, end)).toEqual({ connections: 1, rate: 6 })
    const slow = observe(paused, signal('taken', { since: end }), yahoo, end + 1)
    expect(allowed(slow, yahoo.limits, end + 1)).toEqual({ connections: 1, rate: 6 })
    const later = end + 121 * minute
    const grown = observe(slow, signal('taken', { since: later }), yahoo, later)
    expect(allowed(grown, yahoo.limits, later)).toEqual({ connections: 2, rate: 36 })
  })

  test('is not made longer by the other conversations of the same moment', () => {
    const first = observe(freshLane(yahoo.limits), tss04, yahoo, noon + 10)
    expect(observe(first, tss04, yahoo, noon + 5000)).toEqual(first)
  })

  test.each([
    ['google', 421, '4.7.28', 'Our system has detected an unusual rate of unsolicited mail', 15],
    ['yahoo', 421, '4.7.0', '[TS04] Messages temporarily deferred', 120],
    ['outlook', 421, null, 'RP-001 (BAY) Unfortunately, some messages from 192.0.2.7 were not sent', 15],
    ['outlook', 451, '4.7.650', 'The mail server has been temporarily rate limited due to IP reputation', 30],
    ['m365', 451, '4.7.500', 'Server busy. Please try again later from [192.0.2.7].', 15],
    ['comcast', 421, '4.1.0', '192.0.2.7 throttled RL000010', 5],
    [
      'orange',
      421,
      null,
      'mwinf5c04 ME Trop de connexions, veuillez verifier votre configuration. OFR004_104',
      5,
    ],
    ['qq', 550, null, 'Ip frequency limited', 60],
    ['hosting.example', 451, null, 'Server busy. Please try again later from [192.0.2.7].', 5],
  ] as const)('%s: %i %s %s', (id, code, enhanced, text, minutes) => {
    const provider = providers.get(id)
    const state = observe(
      freshLane(provider.limits),
      signal('slower', said(code, text, enhanced)),
      provider,
      noon,
    )
    expect(state.pause).toEqual({ at: noon, until: noon + minutes * minute, by: 'reply' })
  })

  test('that the rules of replies ask for is made too', () => {
    const asks = { kind: 'pause', minutes: 240 } as const
    const state = observe(
      freshLane(other.limits),
      signal('slower', { ...said(421, 'go away'), asks }),
      other,
      noon,
    )
    expect(state.pause?.until).toBe(noon + 240 * minute)
    expect(state.reason).toBe('hosting.example answered "421 go away" at 12:00 UTC: it has had enough')
  })

  test('of an operator ends when an operator says so', () => {
    const paused = pausedBy(freshLane(other.limits), null, 'paused by an operator', noon)
    expect(isPaused(paused, noon + 1000 * 86_400_000)).toBe(true)
    expect(opensAt(paused, noon)).toBeNull()
    expect(isPaused(resumed(paused, noon + 1), noon + 1)).toBe(false)
  })
})

describe('messages a minute', () => {
  test('are never more than the limit in any 60 seconds, and close to it when there is enough to send', () => {
    const gaps = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 5000 })), { maxLength: 400 })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), gaps, (rate, waits) => {
        const limits = { ...other.limits, connections: 500, messagesPerMinute: rate }
        let state = freshLane(limits)
        let now = noon
        const sent: number[] = []
        for (const wait of waits) {
          now += wait
          const room = roomIn(state, limits, 0, now)
          for (let one = 0; one < room; one++) {
            if (roomIn(state, limits, 0, now) === 0) break
            state = began(state, limits, now)
            sent.push(now)
          }
        }
        for (let at = 0; at + rate < sent.length; at++)
          expect(sent[at + rate]! - sent[at]!).toBeGreaterThanOrEqual(minute)
      }),
    )
  })

  test('go on at the moment that the lane names', () => {
    const limits = { ...other.limits, messagesPerMinute: 60 }
    let state = freshLane(limits)
    let now = noon
    const start = now
    for (let sent = 0; sent < 200; sent++) {
      while (roomIn(state, limits, 0, now) === 0) {
        const next = opensAt(state, now)!
        expect(next).toBeGreaterThan(now)
        now = next
      }
      state = began(state, limits, now)
    }
    expect((now - start) / minute).toBeGreaterThan(3.3)
    expect((now - start) / minute).toBeLessThan(3.6)
  })

  test('are not stopped for hours by a clock that was set back', () => {
    const state = began(freshLane(other.limits), other.limits, noon + 24 * 60 * minute)
    expect(opensAt(state, noon)! - noon).toBeLessThanOrEqual(63_000)
  })
})

test('whatever happens, a lane keeps within its limits and can be saved', () => {
  const kinds = fc.constantFrom('taken', 'slower', 'reputation', 'silent', 'neutral')
  const events = fc.array(fc.tuple(kinds, fc.integer({ min: 0, max: 600_000 }), fc.boolean()), {
    maxLength: 100,
  })
  fc.assert(
    fc.property(events, (list) => {
      let state = freshLane(yahoo.limits)
      let now = noon
      for (const [kind, wait, named] of list) {
        now += wait
        const words = named ? said(421, '[TSS04] later') : said(451, 'later')
        state = began(observe(state, signal(kind, { ...words, since: now }), yahoo, now), yahoo.limits, now)
        const { connections, rate } = allowed(state, yahoo.limits, now)
        expect(connections).toBeGreaterThanOrEqual(1)
        expect(connections).toBeLessThanOrEqual(yahoo.limits.connections)
        expect(rate).toBeGreaterThanOrEqual(1)
        expect(rate).toBeLessThanOrEqual(yahoo.limits.messagesPerMinute)
      }
      expect(readLane(writeLane(state), yahoo.limits)).toEqual(state)
    }),
  )
})

test('a saved state that cannot be read begins anew', () => {
  for (const text of ['', 'null', '[', '{"connections":"many"}'])
    expect(readLane(text, other.limits)).toEqual(freshLane(other.limits))
})
