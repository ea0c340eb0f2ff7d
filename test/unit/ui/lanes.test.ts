import { describe, expect, test } from 'vitest'
import type { Lane } from '../../../appliance/http/schemas/shaping.ts'
import { laneRows, laneState } from '../../../ui/src/state/lanes.ts'
import { poolsOf, readPlan, worstOf } from '../../../ui/src/state/sources.ts'

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
const lane = (provider: string, about: Partial<Lane> = {}): Lane => ({
  ...open,
  provider,
  id: provider,
  ...about,
})
const waits = (provider: string, waiting: number) => {
  const oldest_at = open.updated_at
  return { provider, waiting, held: 0, in_flight: 0, oldest_at }
}

describe('a lane', () => {
  test('that has not earned all of its connections yet is open', () => {
    expect(laneState(open)).toBe('open')
  })

  test('is paused before it is slowed, and slowed before it warms up', () => {
    const warm_up = { day: 1, share: 50, sent: 0 }
    expect(laneState({ ...open, warm_up })).toBe('warming')
    expect(laneState({ ...open, warm_up, messages_per_minute: 30 })).toBe('slowed')
    expect(laneState({ ...open, warm_up, messages_per_minute: 30, paused: true })).toBe('paused')
  })
})

test('lanes that keep mail waiting come first, then the busy ones', () => {
  const lanes = [
    lane('quiet'),
    lane('busy', { minutes: [0, 7] }),
    lane('paused-idle', { paused: true }),
    lane('slow', { messages_per_minute: 6 }),
    lane('paused', { paused: true }),
  ]
  const rows = laneRows(lanes, [waits('slow', 900), waits('paused', 2)])
  expect(rows.map((row) => [row.lane.provider, row.waiting])).toEqual([
    ['paused', 2],
    ['slow', 900],
    ['paused-idle', 0],
    ['busy', 0],
    ['quiet', 0],
  ])
})

describe('an address', () => {
  test('shows the worst of its checks of one kind', () => {
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
    expect([worstOf(checks, 'ptr:'), worstOf(checks, 'blocklist'), worstOf(checks, 'spf:')]).toEqual([
      ...['ok', 'failed', null],
    ])
  })

  test('may be in any pool; default is always there', () => {
    expect(poolsOf([{ pool: 'news' }, { pool: 'news' }])).toEqual(['default', 'news'])
  })
})

test('a plan is whole numbers with spaces or commas between them', () => {
  expect([readPlan('50 100,200\n400'), readPlan(''), readPlan('50 many')]).toEqual([
    [50, 100, 200, 400],
    [],
    null,
  ])
})
