import { expect, test } from 'vitest'
import type { Clock } from '../../../appliance/clock/clock.ts'
import { LOST_MS } from '../../../appliance/mail/node.ts'
import { toNodeViews, type KnownNode } from '../../../appliance/mail/node-view.ts'
import { createHeartbeat, type HeartbeatStorage } from '../../../appliance/watch/heartbeat.ts'
import { createSilentLogger } from '../../../appliance/watch/log.ts'

const node = { id: 'aa', run: '1', name: 'mail1' }

interface ManualClock extends Clock {
  /** Moves time, timer by timer. */
  advance(ms: number): Promise<void>
  /** Moves time without running timers, as for a paused process. */
  jump(ms: number): void
}

function createManualClock(): ManualClock {
  let now = 1_700_000_000_000
  const timers = new Set<{ due: number; callback: () => void }>()
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  return {
    now: () => now,
    after(ms, callback) {
      const timer = { due: now + Math.max(0, ms), callback }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    jump: (ms) => void (now += ms),
    async advance(ms) {
      const end = now + ms
      await settle()
      for (;;) {
        const next = [...timers].filter(({ due }) => due <= end).toSorted((a, b) => a.due - b.due)[0]
        if (!next) break
        timers.delete(next)
        now = Math.max(now, next.due)
        next.callback()
        await settle()
      }
      now = Math.max(now, end)
    },
  }
}

/** A heartbeat on a database that answers as told. */
function open(change: Partial<HeartbeatStorage> = {}) {
  const clock = createManualClock()
  const calls: string[] = []
  const storage: HeartbeatStorage = {
    joinNode: async () => clock.now(),
    renewNode: async ({ state }) => {
      calls.push(state)
      return { at: clock.now(), alive: 2, lost: false }
    },
    stopNode: async () => void calls.push('stopped'),
    ...change,
  }
  const free = async () => [{ name: 'mail2', deliveries: 3 }]
  const heartbeat = createHeartbeat({
    storage,
    clock,
    log: createSilentLogger(),
    node,
    facts: () => '{}',
    lostAfter: LOST_MS,
    free,
  })
  heartbeat.heed({ fenced: () => calls.push('fenced'), freed: () => calls.push('freed') })
  return { heartbeat, clock, calls }
}

test('a node renews its row, reports that it is leaving, then stops', async () => {
  const { heartbeat, clock, calls } = open()
  await heartbeat.start()
  await clock.advance(2000)
  expect(heartbeat.fenced()).toBeNull()
  expect(heartbeat.alive()).toBe(2)
  await heartbeat.leave()
  await heartbeat.stop()
  await clock.advance(60_000)
  expect(calls).toEqual(['active', 'active', 'leaving', 'stopped'])
})

test('a node that cannot renew its row for 8 seconds is fenced until it can', async () => {
  let isDown = false
  const { heartbeat, clock, calls } = open({
    renewNode: async () => {
      if (isDown) throw new Error('down')
      return { at: clock.now(), alive: 2, lost: false }
    },
  })
  await heartbeat.start()
  isDown = true
  await clock.advance(7999)
  expect([heartbeat.fenced(), calls]).toEqual([null, []])
  await clock.advance(1)
  expect(heartbeat.fenced()).toMatch(/could not renew its entry in the database for 8 seconds/)
  expect(calls).toEqual(['fenced'])
  isDown = false
  await clock.advance(2000)
  expect(heartbeat.fenced()).toBeNull()
  await heartbeat.stop()
})

test('a process that was suspended is fenced at once, before its timers run', async () => {
  const { heartbeat, clock } = open()
  await heartbeat.start()
  clock.jump(8000)
  expect(heartbeat.fenced()).not.toBeNull()
  await heartbeat.stop()
})

test('a process that was suspended counts as fenced once, even if it renews its row before its timers run', async () => {
  let resume = (): void => undefined
  const { heartbeat, clock, calls } = open({
    renewNode: async () => {
      await new Promise<void>((resolve) => (resume = resolve))
      return { at: clock.now(), alive: 2, lost: false }
    },
  })
  const starting = heartbeat.start()
  await clock.advance(0)
  resume()
  await starting
  expect([heartbeat.fences(), calls]).toEqual([0, []])
  await clock.advance(2000)
  clock.jump(20_000)
  resume()
  await clock.advance(0)
  expect([heartbeat.fences(), heartbeat.fenced() === null, calls]).toEqual([1, false, ['fenced']])
  await clock.advance(2000)
  resume()
  await clock.advance(0)
  expect([heartbeat.fences(), heartbeat.fenced(), calls]).toEqual([1, null, ['fenced']])
  await heartbeat.stop()
})

test('a node whose row was removed stays fenced', async () => {
  const { heartbeat, clock, calls } = open({ renewNode: async () => undefined })
  await heartbeat.start()
  await clock.advance(2000)
  expect(heartbeat.fenced()).toMatch(/was removed from the database/)
  expect(calls).toEqual(['fenced'])
  await heartbeat.stop()
  expect(calls).toEqual(['fenced'])
})

test('leases of a lost node are freed', async () => {
  let lost = true
  const { heartbeat, clock, calls } = open({
    renewNode: async () => {
      const renewed = { at: clock.now(), alive: 1, lost }
      lost = false
      return renewed
    },
  })
  await heartbeat.start()
  await clock.advance(2000)
  expect(calls).toEqual(['freed'])
  await heartbeat.stop()
})

test.each([
  [1001, 'The clock of this machine is 1.0 s behind that of the database server.'],
  [-75_000, 'The clock of this machine is 75.0 s ahead of that of the database server.'],
])('a clock skew of %d ms prevents a node from starting: %s', async (skew, message) => {
  const { heartbeat, clock, calls } = open({ joinNode: async () => clock.now() + skew })
  await expect(heartbeat.start()).rejects.toThrow(message)
  expect(calls).toEqual(['stopped'])
})

test('a clock difference within the round trip is not counted as skew', async () => {
  const { heartbeat, clock } = open({
    joinNode: async () => {
      clock.jump(5000)
      return clock.now() - 2500
    },
  })
  await heartbeat.start()
  await heartbeat.stop()
})

test('lists nodes with their state and why they are not ready', () => {
  const facts = { hostname: 'mx1.example', version: '1.0.0', runtime: 'v24', sandbox: false, startedAt: 1 }
  const storage = { engine: 'postgres', dataDir: '/var/lib/posthaste', database: 'db/posthaste' }
  const known = (id: string, more: Partial<KnownNode>): KnownNode => ({
    id,
    name: `mail${id}`,
    state: 'active',
    startedAt: 0,
    heartbeatAt: 100_000,
    sources: [],
    facts: JSON.stringify({ ...facts, listeners: [], storage }),
    ...more,
  })
  const nodes = [
    known('1', {}),
    known('2', { heartbeatAt: 100_000 - LOST_MS }),
    known('3', { state: 'stopped', facts: null }),
    known('4', { state: 'leaving' }),
  ]
  const seen = toNodeViews(nodes, '1', 100_000)
  expect(seen.map(({ state, ready, current }) => [state, ready, current])).toEqual([
    ['active', true, true],
    ['lost', false, false],
    ['stopped', false, false],
    ['leaving', false, false],
  ])
  expect(seen[0]).toMatchObject({ ...facts, startedAt: 0, storage })
  expect(seen[1]!.reasons[0]).toMatch(/^It last renewed its entry in the database 15 s ago\./)
})
