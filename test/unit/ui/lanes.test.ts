import { describe, expect, test } from 'vitest'
import type { QueueLane } from '../../../appliance/api/queue.ts'
import type { Lane } from '../../../appliance/api/shaping.ts'
import type { Delivery } from '../../../appliance/api/timeline.ts'
import {
  formatDeliveryReason,
  getDeliveryState,
  describeDeliveryReason,
  getLaneState,
  sortQueueLanes,
} from '../../../ui/src/state/lanes.ts'
import { listPools, parsePlan, findWorstStatus } from '../../../ui/src/state/sources.ts'

const open: Lane = {
  object: 'lane',
  id: 'auto~google',
  source: 'auto',
  pool: 'default',
  provider: 'google',
  provider_name: 'Google',
  connections: 5,
  most_connections: 20,
  messages_per_minute: 600,
  most_messages_per_minute: 600,
  in_flight: 0,
  last_minute: 0,
  minutes: [],
  paused: false,
  paused_until: null,
  warm_up: null,
  reason: null,
  decision: null,
  reason_at: null,
  updated_at: '2026-11-21 05:00:00.000000+00',
}
describe('the state of a lane', () => {
  test('a lane is idle while nothing is sent, even if connections are allowed', () => {
    expect([getLaneState(open), getLaneState({ ...open, in_flight: 1 })]).toEqual(['idle', 'sending'])
  })

  test('paused takes precedence over warm-up, and warm-up over rate-limited', () => {
    const warm_up = { day: 1, share: 50, sent: 50 }
    expect(getLaneState({ ...open, messages_per_minute: 30 })).toBe('rate_limited')
    expect(getLaneState({ ...open, warm_up, messages_per_minute: 30 })).toBe('warm_up')
    expect(getLaneState({ ...open, warm_up, paused: true })).toBe('paused')
  })
})

const row = (id: string, state: QueueLane['state'], count: number): QueueLane => ({
  object: 'queue_lane',
  id,
  pool: 'default',
  provider: id,
  provider_name: id,
  state,
  count,
  due: count,
  later: 0,
  held: 0,
  in_flight: 0,
  oldest_at: null,
  next_at: null,
  reason: null,
  why: null,
  until: null,
  lanes: [],
})

test('queue rows that need attention come first, then the largest, and none is omitted', () => {
  const rows = [
    row('a', 'idle', 0),
    row('b', 'retrying', 5),
    row('c', 'held', 900),
    row('d', 'paused', 2),
    row('e', 'paused', 0),
  ]
  expect(sortQueueLanes(rows).map(({ id }) => id)).toEqual(['d', 'c', 'b', 'a', 'e'])
})

const delivery = (more: Partial<Delivery>): Delivery => ({
  id: 'd',
  email_id: 'e',
  recipient: 'a@b.example',
  field: 'to',
  pool: 'default',
  provider: 'b.example',
  state: 'waiting',
  status: 'queued',
  attempts: 1,
  created_at: open.updated_at,
  updated_at: open.updated_at,
  next_attempt_at: null,
  expires_at: null,
  cause: null,
  waiting: null,
  ...more,
})

describe('a queued delivery', () => {
  const note = 'mx.b.example wants less mail.'
  const reply = { code: 421, enhanced: '4.7.28', text: 'Slow down' }
  const until = '2026-11-21 14:31:00.000000+00'
  const deferred = { until, why: '', reason: { key: 'deferred' as const, attempt: 2, note, reply } }

  test('shows the reason on one line, and as a sentence with the time in the viewer’s zone', () => {
    const put = delivery({ waiting: deferred })
    expect([getDeliveryState(put), formatDeliveryReason(put)]).toEqual([
      'retrying',
      'mx.b.example wants less mail (421 4.7.28)',
    ])
    expect(describeDeliveryReason(put, true)).toBe(
      'Attempt 2 at 2026-11-21 14:31:00 UTC: mx.b.example wants less mail.',
    )
  })

  test('a queued delivery has no route if DNS failed', () => {
    const cause = { phase: 'route', host: null, ip: null, reply: null, note }
    expect(getDeliveryState(delivery({ cause, waiting: deferred }))).toBe('no_route')
  })

  test('shows whether a queued delivery is held or being sent', () => {
    const held = delivery({ state: 'held', waiting: { until: null, why: '', reason: { key: 'held' } } })
    expect([getDeliveryState(held), describeDeliveryReason(held, true)]).toEqual([
      'held',
      'Held by an operator until released.',
    ])
    expect([getDeliveryState(delivery({})), formatDeliveryReason(delivery({}))]).toEqual([
      'sending',
      'An attempt is in progress',
    ])
  })
})

describe('a sending IP', () => {
  test('a sending IP shows the worst check of each kind', () => {
    const check = (id: string, status: 'failed' | 'warning' | 'ok') => ({
      id,
      title: '',
      status,
      found: '',
      advice: null,
    })
    const checks = [
      check('ptr:192.0.2.1', 'ok'),
      check('blocklist:a:x', 'ok'),
      check('blocklist:b:x', 'failed'),
    ]
    expect([
      findWorstStatus(checks, 'ptr:'),
      findWorstStatus(checks, 'blocklist'),
      findWorstStatus(checks, 'spf:'),
    ]).toEqual(['ok', 'failed', null])
  })

  test('a sending IP may be in any pool, and the default pool is always listed', () => {
    expect(listPools([{ pool: 'news' }, { pool: 'news' }])).toEqual(['default', 'news'])
  })
})

test('parses a warm-up plan as whole numbers separated by spaces or commas', () => {
  expect([parsePlan('50 100,200\n400'), parsePlan(''), parsePlan('50 many')]).toEqual([
    [50, 100, 200, 400],
    [],
    null,
  ])
})
