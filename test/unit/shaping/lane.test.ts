import * as fc from '../../world/fast-check.ts'
import { describe, expect, test } from 'vitest'
import { describeLaneReason } from '../../../appliance/mail/waiting.ts'
import { loadProviders } from '../../../appliance/config/config.ts'
import {
  getCurrentLimits,
  recordStart,
  createLaneState,
  isPaused,
  recordMailCommand,
  computeMailWait,
  applySignal,
  computeResumeTime,
  pauseManually,
  Providers,
  parseLane,
  resumeManually,
  availableCapacity,
  serializeLane,
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
  signals.reduce((before, one) => applySignal(before, one, provider, at), state)

describe('a sending lane', () => {
  test('a lane starts with five connections and adds one for each round without deferrals', () => {
    let state = createLaneState(other.limits)
    const seen: number[] = []
    for (let taken = 0; taken < 60; taken++) {
      seen.push(getCurrentLimits(state, other.limits, noon).connections)
      state = applySignal(state, signal('taken'), other, noon)
    }
    expect([...new Set(seen)]).toEqual([5, 6, 7, 8, 9, 10])
    expect(seen.indexOf(10)).toBe(5 + 6 + 7 + 8 + 9)
  })

  test('a lane never exceeds the provider’s limits', () => {
    const state = after(
      createLaneState(google.limits),
      Array<Signal>(500).fill(signal('taken')),
      noon,
      google,
    )
    expect(getCurrentLimits(state, google.limits, noon)).toEqual({ connections: 5, rate: 1200 })
  })

  test('a lane halves its connections after a deferral, once for all messages in progress', () => {
    const busy = createLaneState(other.limits)
    const once = applySignal(busy, signal('slower'), other, noon + 1)
    expect(getCurrentLimits(once, other.limits, noon).connections).toBe(2)
    const same = after(once, Array<Signal>(5).fill(signal('slower', { since: noon })), noon + 2)
    expect(same).toEqual(once)
    const again = applySignal(once, signal('slower', { since: noon + 3 }), other, noon + 4)
    expect(getCurrentLimits(again, other.limits, noon).connections).toBe(1)
    expect(describeLaneReason(again.reason!, other.name)).toBe(
      'sending one message at a time until hosting.example accepts mail again: it has had enough',
    )
  })

  test('a lane probes with one message after ten seconds, then less often', () => {
    let state = applySignal(createLaneState(other.limits), signal('slower'), other, noon + 1)
    const asked: number[] = []
    for (let asks = 0; asks < 12; asks++) {
      const at = computeResumeTime(state, noon)!
      asked.push(Math.round((at - noon) / 1000))
      expect([
        availableCapacity(state, other.limits, 0, at - 1),
        availableCapacity(state, other.limits, 0, at),
      ]).toEqual([0, 1])
      state = recordStart(state, other.limits, at)
      expect(availableCapacity(state, other.limits, 1, at + 9000)).toBe(0)
      state = applySignal(state, signal('slower', { since: at }), other, at + 1)
    }
    expect(asked).toEqual([10, 20, 30, 40, 50, 60, 72, 86, 104, 124, 149, 179])
  })

  test('a lane keeps its rate when a server does not respond, and reduces connections', () => {
    const state = applySignal(createLaneState(other.limits), signal('silent'), other, noon + 1)
    expect(getCurrentLimits(state, other.limits, noon + 1)).toEqual({ connections: 2, rate: 6000 })
    expect(describeLaneReason(state.reason!, other.name)).toBe(
      'at most 2 connections to hosting.example: it has had enough',
    )
  })

  test('a lane does not change after replies about the recipient', () => {
    const state = createLaneState(other.limits)
    const full = signal('neutral', said(452, 'mailbox is full', '4.2.2'))
    expect(applySignal(state, full, other, noon)).toEqual(state)
  })

  test('a lane pauses for longer each time a server does not respond', () => {
    let state = createLaneState(other.limits)
    const pauses: number[] = []
    for (let tries = 0; tries < 11; tries++) {
      const at = noon + tries * 60 * minute
      state = applySignal(state, signal('silent', { since: at }), other, at)
      if (isPaused(state, at)) pauses.push((state.pause!.until! - at) / minute)
    }
    expect(pauses).toEqual([1, 2, 4, 8, 15, 15, 15])
    expect(
      isPaused(applySignal(state, signal('taken'), other, noon + 660 * minute), noon + 660 * minute),
    ).toBe(false)
  })
})

describe('a lane pause', () => {
  const tss04 = signal('reputation', {
    ...said(421, '[TSS04] Messages from 192.0.2.7 temporarily deferred due to unexpected volume', '4.7.0'),
  })

  test('a pause from the provider table stops the lane with a reason; it then resumes slowly and grows', () => {
    const at = noon + 61 * minute
    const paused = applySignal(createLaneState(yahoo.limits), { ...tss04, since: at }, yahoo, at)
    expect(describeLaneReason(paused.reason!, yahoo.name)).toBe(
      'Yahoo replied TSS04: it defers mail from this IP because of unexpected volume or complaints',
    )
    expect(isPaused(paused, at)).toBe(true)
    expect(availableCapacity(paused, yahoo.limits, 0, at)).toBe(0)
    const end = at + 120 * minute
    expect(computeResumeTime(paused, at)).toBe(end)
    expect(isPaused(paused, end)).toBe(false)
    expect(getCurrentLimits(paused, yahoo.limits, end)).toEqual({ connections: 1, rate: 6 })
    const slow = applySignal(paused, signal('taken', { since: end }), yahoo, end + 1)
    expect(getCurrentLimits(slow, yahoo.limits, end + 1)).toEqual({ connections: 1, rate: 6 })
    const later = end + 121 * minute
    const grown = applySignal(slow, signal('taken', { since: later }), yahoo, later)
    expect(getCurrentLimits(grown, yahoo.limits, later)).toEqual({ connections: 2, rate: 36 })
  })

  test('a pause is not extended by concurrent sessions', () => {
    const first = applySignal(createLaneState(yahoo.limits), tss04, yahoo, noon + 10)
    expect(applySignal(first, tss04, yahoo, noon + 5000)).toEqual(first)
  })

  test.each([
    ['google', 421, '4.7.28', 'Our system has detected an unusual rate of unsolicited mail', 15],
    ['yahoo', 421, '4.7.0', '[TS04] Messages temporarily deferred', 120],
    ['outlook', 421, null, 'RP-001 (BAY) Unfortunately, some messages from 192.0.2.7 were not sent', 15],
    ['outlook', 451, '4.7.650', 'The mail server has been temporarily rate limited due to IP reputation', 30],
    ['m365', 451, '4.7.500', 'Server busy. Please try again later from [192.0.2.7].', 15],
    ['comcast', 421, '4.1.0', '192.0.2.7 throttled RL000010', 5],
    ['orange', 421, null, 'mwinf5c04 ME Trop de messages. OFR004_105', 5],
    ['qq', 550, null, 'Ip frequency limited', 60],
    ['hosting.example', 451, null, 'Server busy. Please try again later from [192.0.2.7].', 5],
  ] as const)('is triggered for %s: %i %s %s', (id, code, enhanced, text, minutes) => {
    const provider = providers.get(id)
    const state = applySignal(
      createLaneState(provider.limits),
      signal('slower', said(code, text, enhanced)),
      provider,
      noon,
    )
    expect(state.pause).toEqual({ at: noon, until: noon + minutes * minute, by: 'reply' })
  })

  test('reply rules can also pause a lane', () => {
    const asks = { kind: 'pause', minutes: 240 } as const
    const state = applySignal(
      createLaneState(other.limits),
      signal('slower', { ...said(421, 'go away'), asks }),
      other,
      noon,
    )
    expect(state.pause?.until).toBe(noon + 240 * minute)
    expect(describeLaneReason(state.reason!, other.name)).toBe(
      'hosting.example replied "421 go away": it has had enough',
    )
  })

  test.each(['orange', 'laposte', 'libero', 'mail-ru', 'outlook', 'hosting.example'])(
    'a reply about too many connections does not pause a lane: %s',
    (id) => {
      const provider = providers.get(id)
      const crowded = said(421, "Too many connections, slow down. OFR004_104 RP-003 messages weren't sent")
      const state = applySignal(createLaneState(provider.limits), signal('neutral', crowded), provider, noon)
      expect(state).toEqual(createLaneState(provider.limits))
    },
  )

  test('a pause by an operator lasts until an operator ends it', () => {
    const paused = pauseManually(createLaneState(other.limits), null, noon)
    expect(isPaused(paused, noon + 1000 * 86_400_000)).toBe(true)
    expect(computeResumeTime(paused, noon)).toBeNull()
    expect(isPaused(resumeManually(paused, noon + 1), noon + 1)).toBe(false)
  })
})

describe('a "too many connections" reply', () => {
  const crowded = (since: number) => signal('slower', { since, asks: { kind: 'connections', minutes: 15 } })
  const taken = (state: LaneState, count: number, at: number) =>
    after(state, Array<Signal>(count).fill(signal('taken', { since: at })), at)
  const connections = (state: LaneState, at: number) => getCurrentLimits(state, other.limits, at).connections

  test('a "too many connections" reply reduces connections but not the rate', () => {
    const state = applySignal(createLaneState(other.limits), crowded(noon), other, noon + 1)
    expect(getCurrentLimits(state, other.limits, noon + 1)).toEqual({ connections: 2, rate: 6000 })
    expect(availableCapacity(state, other.limits, 0, noon + 1)).toBe(2)
  })

  test('a "too many connections" reply delays new connections, longer each time', () => {
    let state = applySignal(createLaneState(other.limits), crowded(noon), other, noon + 1)
    state = taken(state, 50, noon + 2)
    expect(connections(state, noon + 2)).toBe(4)
    state = applySignal(state, crowded(noon + 3), other, noon + 4)
    state = taken(state, 50, noon + 29 * minute)
    expect(connections(state, noon + 29 * minute)).toBe(3)
    state = taken(state, 3, noon + 31 * minute)
    expect(connections(state, noon + 31 * minute)).toBe(4)
  })

  test('a "too many connections" reply leaves at least one connection', () => {
    let state = createLaneState(other.limits)
    for (let at = noon; at < noon + 10; at += 2) state = applySignal(state, crowded(at), other, at + 1)
    state = taken(state, 50, noon + 20)
    expect(connections(state, noon + 20)).toBe(1)
  })
})

describe('messages per minute of a lane', () => {
  test('messages stay within the limit in any 60 seconds, and close to it when there is enough to send', () => {
    const gaps = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 5000 })), { maxLength: 400 })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), gaps, (rate, waits) => {
        const limits = { ...other.limits, connections: 500, messagesPerMinute: rate }
        let state = createLaneState(limits)
        let now = noon
        const sent: number[] = []
        for (const wait of waits) {
          now += wait
          const room = availableCapacity(state, limits, 0, now)
          for (let one = 0; one < room; one++) {
            if (availableCapacity(state, limits, 0, now) === 0) break
            state = recordStart(state, limits, now)
            sent.push(now)
          }
        }
        for (let at = 0; at + rate < sent.length; at++)
          expect(sent[at + rate]! - sent[at]!).toBeGreaterThan(minute)
      }),
    )
  })

  test('messages resume at the time that the lane reports', () => {
    const limits = { ...other.limits, messagesPerMinute: 60 }
    let state = createLaneState(limits)
    let now = noon
    const start = now
    for (let sent = 0; sent < 200; sent++) {
      while (availableCapacity(state, limits, 0, now) === 0) {
        const next = computeResumeTime(state, now)!
        expect(next).toBeGreaterThan(now)
        now = next
      }
      state = recordStart(state, limits, now)
    }
    expect((now - start) / minute).toBeGreaterThan(3.3)
    expect((now - start) / minute).toBeLessThan(3.6)
  })

  test('messages are counted at MAIL, however late servers send their greeting', () => {
    const delays = fc.array(fc.integer({ min: 0, max: 40_000 }), { minLength: 300, maxLength: 300 })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 120 }), delays, (rate, greets) => {
        const limits = { ...other.limits, connections: 500, messagesPerMinute: rate }
        let state = createLaneState(limits)
        let now = noon
        let waiting: { since: number; at: number }[] = []
        const said: number[] = []
        for (const greet of greets) {
          now = Math.max(now, computeResumeTime(state, now)!)
          state = recordStart(state, limits, now)
          waiting.push({ since: now, at: now + greet })
          waiting.sort((a, b) => a.at - b.at)
          while (waiting[0] && waiting[0].at <= now) {
            const [{ since, at }] = waiting as [(typeof waiting)[0]]
            const wait = computeMailWait(state, since, at)
            waiting = waiting.slice(1)
            if (wait === null) continue
            if (wait > 0) {
              waiting.push({ since, at: at + wait })
              waiting.sort((a, b) => a.at - b.at)
              continue
            }
            state = recordMailCommand(state, limits, at)
            said.push(at)
          }
        }
        for (let at = 0; at + rate < said.length; at++)
          expect(said[at + rate]! - said[at]!).toBeGreaterThan(minute)
      }),
      { numRuns: 30 },
    )
  })

  test('messages are not sent during a pause, even if admitted before', () => {
    const admitted = recordStart(createLaneState(other.limits), other.limits, noon)
    const paused = pauseManually(admitted, noon + minute, noon + 1)
    expect(computeMailWait(admitted, noon, noon + 2)).toBe(0)
    expect(computeMailWait(paused, noon, noon + 2)).toBeNull()
    expect(computeMailWait(paused, noon, noon + minute)).toBe(0)
  })

  test('messages are not blocked for hours by a clock that was set back', () => {
    const state = recordStart(createLaneState(other.limits), other.limits, noon + 24 * 60 * minute)
    expect(computeResumeTime(state, noon)! - noon).toBeLessThanOrEqual(63_000)
  })
})

test('after any sequence of events, a lane stays within its limits and can be saved', () => {
  const kinds = fc.constantFrom('taken', 'slower', 'reputation', 'silent', 'neutral')
  const events = fc.array(fc.tuple(kinds, fc.integer({ min: 0, max: 600_000 }), fc.boolean()), {
    maxLength: 100,
  })
  fc.assert(
    fc.property(events, (list) => {
      let state = createLaneState(yahoo.limits)
      let now = noon
      for (const [kind, wait, named] of list) {
        now += wait
        const words = named ? said(421, '[TSS04] later') : said(451, 'later')
        state = recordStart(
          applySignal(state, signal(kind, { ...words, since: now }), yahoo, now),
          yahoo.limits,
          now,
        )
        const { connections, rate } = getCurrentLimits(state, yahoo.limits, now)
        expect(connections).toBeGreaterThanOrEqual(1)
        expect(connections).toBeLessThanOrEqual(yahoo.limits.connections)
        expect(rate).toBeGreaterThanOrEqual(1)
        expect(rate).toBeLessThanOrEqual(yahoo.limits.messagesPerMinute)
      }
      expect(parseLane(serializeLane(state), yahoo.limits)).toEqual(state)
    }),
  )
})

test('an unreadable saved lane is replaced with a new one', () => {
  for (const text of ['', 'null', '[', '{"connections":"many"}'])
    expect(parseLane(text, other.limits)).toEqual(createLaneState(other.limits))
})

test('a saved pause is kept when the saved rate is unreadable', () => {
  const paused = pauseManually(createLaneState(other.limits), null, noon)
  const saved = { ...paused, pace: { minute: 1, now: 2, before: 3 } }
  expect(parseLane(JSON.stringify(saved), other.limits)).toEqual(paused)
})
