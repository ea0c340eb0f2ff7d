import { describe, expect, test } from 'vitest'
import { loadProviders } from '../../../appliance/config/config.ts'
import type { Source } from '../../../appliance/mail/source.ts'
import {
  explainWait,
  createLaneState,
  applySignal,
  Providers,
  type LaneState,
  type DeliveryFacts,
} from '../../../appliance/shaping/shaping.ts'

const now = Date.UTC(2026, 10, 21, 13, 1)
const providers = new Providers(loadProviders({ connections: 10 }))
const source = (ip: string, change: Partial<Source> = {}): Source => ({
  ip,
  pool: 'default',
  hostname: null,
  state: 'active',
  stateReason: null,
  suspendedBy: null,
  warmUpSince: null,
  origin: 'configuration',
  health: null,
  checkedAt: null,
  ...change,
})
const waiting = (change: Partial<DeliveryFacts> = {}): DeliveryFacts => ({
  state: 'waiting',
  dueAt: now,
  pool: 'default',
  provider: 'google',
  attempts: 0,
  cause: null,
  ...change,
})
const why = (
  delivery: DeliveryFacts,
  states: Record<string, LaneState> = {},
  sources = [source('192.0.2.7')],
) => {
  const lanes = Object.entries(states).map(([ip, state]) => ({
    source: ip,
    provider: delivery.provider,
    state,
  }))
  return explainWait(delivery, { lanes, sources, providers }, now)
}
const fresh = createLaneState(providers.get('google').limits)
const cause = {
  phase: 'rcpt' as const,
  host: 'mx.a.test',
  ip: null,
  reply: null,
  note: 'mx.a.test asks to come back later.',
}

describe('the reason why a delivery waits', () => {
  test('a final delivery has no reason', () => {
    expect(why(waiting({ state: 'delivered', dueAt: null }))).toBeNull()
  })

  test('the reason is a hold by an operator', () => {
    expect(why(waiting({ state: 'held' }))).toMatchObject({
      until: null,
      why: 'held by an operator until released',
    })
  })

  test('the reason is the time of the next attempt', () => {
    const dueAt = now + 90 * 60_000
    expect(why(waiting({ attempts: 2, dueAt, cause }))).toMatchObject({
      until: dueAt,
      why: 'attempt 3 at 14:31 UTC: mx.a.test asks to come back later',
    })
  })

  test('the reason is the pause of the lane, if longer', () => {
    const said = { code: 421, enhanced: '4.7.0', text: '[TSS04] Messages temporarily deferred' }
    const signal = { kind: 'reputation', since: now, said, note: '', recipients: 1, final: false } as const
    const yahoo = providers.get('yahoo')
    const state = applySignal(createLaneState(yahoo.limits), signal, yahoo, now)
    const delivery = waiting({ provider: 'yahoo', attempts: 1, dueAt: now + 60_000, cause })
    expect(why(delivery, { '192.0.2.7': state })).toMatchObject({
      until: now + 120 * 60_000,
      why: 'paused until 15:01 UTC: Yahoo replied TSS04: it defers mail from this IP because of unexpected volume or complaints',
    })
  })

  test('the reason is that no connection is free', () => {
    expect(why(waiting(), { '192.0.2.7': fresh })).toMatchObject({
      until: null,
      why: 'waiting for one of 5 connections to Google from 192.0.2.7',
    })
  })

  test('the reason is the daily warm-up limit of a new IP, until midnight', () => {
    const warming = source('192.0.2.7', { warmUpSince: now - 2 * 86_400_000 })
    const state = { ...fresh, today: { day: '2026-11-21', sent: 200, complained: 0 } }
    expect(why(waiting(), { '192.0.2.7': state }, [warming])).toMatchObject({
      until: Date.UTC(2026, 10, 22),
      why: 'warm-up: 200 of 200 messages to Google sent today from 192.0.2.7; continues at 2026-11-22 00:00 UTC',
    })
  })

  test('the reason is also given as data, with the server’s reply', () => {
    const reply = { code: 451, enhanced: '4.7.1', text: 'Greylisted' }
    const dueAt = now + 60_000
    expect(why(waiting({ attempts: 1, dueAt, cause: { ...cause, reply } }))?.reason).toEqual({
      key: 'deferred',
      attempt: 2,
      note: 'mx.a.test asks to come back later.',
      reply,
    })
    expect(why(waiting(), { '192.0.2.7': fresh })?.reason).toEqual({
      key: 'connections',
      connections: 5,
      because: null,
      provider: 'Google',
      source: '192.0.2.7',
    })
  })

  test('the reason is that no sending IP is usable', () => {
    const suspended = source('192.0.2.7', { state: 'suspended', stateReason: 'it is listed.' })
    expect(why(waiting(), {}, [suspended])?.why).toBe(
      'No sending IP is usable for IPv4: 192.0.2.7 is suspended (it is listed)',
    )
  })
})
