import { describe, expect, test } from 'vitest'
import type { Clock } from '../../../appliance/clock/clock.ts'
import { loadProviders } from '../../../appliance/config/config.ts'
import { createDispatcher } from '../../../appliance/delivery/dispatch.ts'
import { computeLeaseAhead, addEndTime } from '../../../appliance/delivery/lane-capacity.ts'
import { Lanes } from '../../../appliance/delivery/lanes.ts'
import type { PermitDecision, PermitRequest, Permit } from '../../../appliance/delivery/permit.ts'
import type { Source } from '../../../appliance/mail/source.ts'
import type { LeasedDelivery, SettleArgs } from '../../../appliance/storage/storage.ts'
import { createSilentLogger } from '../../../appliance/watch/log.ts'
import { cacheBriefly } from '../../../appliance/delivery/delivery.ts'

const auto: Source = {
  ip: 'auto',
  pool: 'default',
  hostname: null,
  state: 'active',
  stateReason: null,
  suspendedBy: null,
  warmUpSince: null,
  origin: 'configuration',
  health: null,
  checkedAt: null,
}
const of = { pool: 'default', provider: 'example.test' }
const destination = 'default/example.test'
const ask: PermitRequest = { ...of, recipients: 1, families: [4] }

/** Creates a clock that only moves with `advance`, so that time on a busy machine doesn't count. */
function createStill(): Clock & { advance(ms: number): void } {
  let now = 1_700_000_000_000
  const timers = new Set<{ due: number; callback: () => void }>()
  return {
    now: () => now,
    after(ms, callback) {
      const timer = { due: now + ms, callback }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    advance(ms) {
      now += ms
      for (const timer of timers) if (timer.due <= now && timers.delete(timer)) timer.callback()
    },
  }
}

/** Creates lanes with this many connections each and no history. */
function begin(connections: number) {
  const clock = createStill()
  const storage = {
    saveLanes: async () => undefined,
    addLaneDays: async () => undefined,
    listLanes: async () => [],
    listProviderSettings: async () => [],
    listSources: async () => [],
  }
  const table = () => loadProviders({ connections })
  const given = { storage, clock, log: createSilentLogger(), table }
  return { clock, lanes: new Lanes({ ...given, fallback: [auto], random: () => 0 }) }
}

function permitted(admission: PermitDecision): Permit {
  if (admission.kind !== 'permit') throw new Error(`no permit: ${JSON.stringify(admission)}`)
  return admission
}

/** Runs one message from the permit to the commit. */
function deliver(lanes: Lanes): void {
  const permit = permitted(lanes.admit(ask))
  permit.release([])
  permit.settled()
}

const roomOf = (lanes: Lanes, now: number): number | undefined => lanes.room(now).room[destination]

describe('lease-ahead', () => {
  test('the lease-ahead is the number of attempts that ended in the last 20 ms, at most one per connection', () => {
    expect(computeLeaseAhead([], 10, 1000)).toBe(0)
    expect(computeLeaseAhead([979, 980, 981, 990, 1000], 10, 1000)).toBe(3)
    expect(computeLeaseAhead([1000, 1000, 1000], 2, 1000)).toBe(2)
  })

  test('the lease-ahead ignores end times in the future, as left by a clock set back', () => {
    expect(computeLeaseAhead([5000, 5001], 10, 1000)).toBe(0)
  })

  test('keeps only the most recent end times, one per connection', () => {
    expect(addEndTime([1, 2, 3], 3, 4)).toEqual([2, 3, 4])
  })

  test('the lease-ahead is zero for a destination without a finished message, and for a slow one', () => {
    const { clock, lanes } = begin(2)
    permitted(lanes.admit(ask))
    expect(roomOf(lanes, clock.now())).toBe(1)
    deliver(lanes)
    clock.advance(20)
    expect(roomOf(lanes, clock.now())).toBe(1)
  })

  test('the lease-ahead adds to the free connections of a fast destination until it is used up', () => {
    const { clock, lanes } = begin(2)
    deliver(lanes)
    deliver(lanes)
    permitted(lanes.admit(ask))
    permitted(lanes.admit(ask))
    expect(roomOf(lanes, clock.now())).toBe(2)
    lanes.reserve(of)
    expect(roomOf(lanes, clock.now())).toBe(1)
    expect(lanes.isLow(of)).toBe(true)
    lanes.reserve(of)
    expect(roomOf(lanes, clock.now())).toBe(0)
    expect(lanes.isLow(of)).toBe(false)
  })
})

describe('a message waiting for a connection', () => {
  test('waiting messages get freed connections in arrival order, and a new message cannot overtake them', async () => {
    const { lanes } = begin(1)
    const open = permitted(lanes.admit(ask))
    expect(lanes.admit(ask)).toEqual({ kind: 'busy' })
    const order: string[] = []
    const first = lanes.wait(ask).then((admission) => (order.push('first'), permitted(admission)))
    const second = lanes.wait(ask).then((admission) => (order.push('second'), permitted(admission)))
    open.release([])
    open.settled()
    expect(lanes.admit(ask)).toEqual({ kind: 'busy' })
    const next = await first
    next.release([])
    next.settled()
    await second
    expect(order).toEqual(['first', 'second'])
  })

  test('a waiting message returns to the spool after one second', async () => {
    const { clock, lanes } = begin(1)
    permitted(lanes.admit(ask))
    const waiting = lanes.wait(ask)
    clock.advance(1000)
    expect(await waiting).toEqual({ kind: 'busy' })
  })

  test('a waiting message returns to the spool at once when its lane is paused', async () => {
    const { lanes } = begin(1)
    const open = permitted(lanes.admit(ask))
    const waiting = lanes.wait(ask)
    const asks = { kind: 'pause', minutes: 5 } as const
    const said = { code: 421, enhanced: null, text: 'not now' }
    open.release([{ kind: 'slower', said, note: 'It wants a pause.', recipients: 1, final: true, asks }])
    expect(await waiting).toEqual({ kind: 'full', retryAt: null })
  })

  test('waiting messages return to the spool when the lanes stop, and later messages do not wait', async () => {
    const { lanes } = begin(1)
    permitted(lanes.admit(ask))
    const waiting = lanes.wait(ask)
    lanes.dismiss()
    expect(await waiting).toEqual({ kind: 'busy' })
    expect(await lanes.wait(ask)).toEqual({ kind: 'busy' })
  })
})

describe('unstored outcomes', () => {
  test('unstored outcomes free the connection, but block a lane at two messages per connection', async () => {
    const { clock, lanes } = begin(1)
    const a = permitted(lanes.admit(ask))
    a.release([])
    const b = permitted(lanes.admit(ask))
    b.release([])
    expect(lanes.admit(ask)).toEqual({ kind: 'busy' })
    expect(roomOf(lanes, clock.now())).toBe(0)
    const waiting = lanes.wait(ask)
    expect(a.settled()).toBe(true)
    expect(a.settled()).toBe(false)
    const c = permitted(await waiting)
    c.release([])
    expect([b.settled(), c.settled()]).toEqual([true, false])
  })
})

describe('the dispatcher', () => {
  const delivery = (n: number): LeasedDelivery =>
    ({
      ...of,
      id: `d${n}`,
      emailId: `e${n}`,
      domain: 'example.test',
      stream: 'transactional',
      leaseUntil: Infinity,
      returnPath: 'a@sender.test',
    }) as LeasedDelivery
  const settle = ({ id }: LeasedDelivery): SettleArgs => ({
    owner: 'owner',
    attempt: null,
    changes: [
      { deliveryId: id, state: 'delivered', dueAt: null, event: null, report: null, cause: {} as never },
    ],
  })

  test('on one connection, the dispatcher starts one more message while an outcome is stored, but not a third', async () => {
    const { clock, lanes } = begin(1)
    const waiting = [1, 2, 3, 4].map(delivery)
    const commits: (() => void)[] = []
    const begun: string[] = []
    const dispatcher = createDispatcher({
      abandon: () => undefined,
      storage: {
        lease: async ({ limit, room, roomElse }) =>
          waiting.splice(0, Math.min(limit, room[destination] ?? roomElse, waiting.length)),
        settle: async () => {
          await new Promise<void>((commit) => commits.push(commit))
          return { lost: [] }
        },
        unlease: async () => undefined,
        leasedUntil: async () => [],
        leaseOwners: async () => [],
        voidLeases: async () => 0,
        nextDue: async () => (waiting.length > 0 ? 0 : undefined),
      },
      lanes,
      clock,
      log: createSilentLogger(),
      owner: 'owner',
      maxConnections: 100,
      pollMs: 1000,
      attempt: async (batch, placed) => {
        const now = lanes.admit(ask)
        const permit = permitted(now.kind === 'busy' ? await lanes.wait(ask) : now)
        placed()
        begun.push(batch[0]!.id)
        await new Promise((resolve) => setImmediate(resolve))
        permit.release([])
        return { settle: settle(batch[0]!), giveBack: null, settled: () => permit.settled() }
      },
    })
    const until = async (done: () => boolean): Promise<void> => {
      for (let n = 0; n < 200 && !done(); n++) await new Promise((resolve) => setImmediate(resolve))
    }
    await dispatcher.start()
    await until(() => begun.length === 2)
    // Neither of the two is stored yet, so a third doesn't start.
    await until(() => false)
    expect([begun, commits.length]).toEqual([['d1', 'd2'], 2])
    commits.shift()!()
    await until(() => begun.length === 3)
    await until(() => false)
    expect(begun).toEqual(['d1', 'd2', 'd3'])
    const end = dispatcher.stop(1000)
    for (const commit of commits) commit()
    expect(await end).toBe(0)
    expect(begun).toEqual(['d1', 'd2', 'd3'])
  })
})

describe('an idle dispatcher', () => {
  test('an idle dispatcher misses no email accepted during its lookup, and combines several wake-ups', async () => {
    const { clock, lanes } = begin(1)
    permitted(lanes.admit(ask))
    let leases = 0
    let accepted = (): void => undefined
    const dispatcher = createDispatcher({
      abandon: () => undefined,
      storage: {
        lease: async () => {
          leases += 1
          return []
        },
        nextDue: async () => {
          accepted()
          return undefined
        },
        settle: async () => ({ lost: [] }),
        unlease: async () => undefined,
        leasedUntil: async () => [],
        leaseOwners: async () => [],
        voidLeases: async () => 0,
      },
      lanes,
      clock,
      log: createSilentLogger(),
      owner: 'owner',
      maxConnections: 100,
      pollMs: 1000,
      attempt: () => Promise.reject(new Error('nothing is tried here')),
    })
    const breath = async (): Promise<void> => {
      for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve))
    }
    accepted = () => dispatcher.wake()
    await dispatcher.start()
    await breath()
    accepted = () => undefined
    dispatcher.wake()
    dispatcher.wake()
    await breath()
    expect(leases).toBe(1)
    clock.advance(5)
    await breath()
    expect(leases).toBe(2)
    await dispatcher.stop(0)
  })
})

describe('briefly()', () => {
  test('caches the result of a storage query for 100 ms per argument', async () => {
    let asked = 0
    const ask = cacheBriefly(async ({ id }: { id: string }) => `${id}${++asked}`)
    expect(await Promise.all([ask({ id: 'a' }, 0), ask({ id: 'a' }, 99), ask({ id: 'b' }, 99)])).toEqual([
      'a1',
      'a1',
      'b2',
    ])
    expect(await ask({ id: 'a' }, 100)).toBe('a3')
    expect(await ask({ id: 'a' }, 50)).toBe('a4')
  })

  test('does not cache a failed query', async () => {
    let asked = 0
    const ask = cacheBriefly(async (_: object) => {
      if (++asked === 1) throw new Error('no')
      return asked
    })
    await expect(ask({}, 0)).rejects.toThrow('no')
    expect(await ask({}, 0)).toBe(2)
  })
})
