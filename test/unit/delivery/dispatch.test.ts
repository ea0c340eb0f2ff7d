import { expect, test } from 'vitest'
import { NotSentError, type AttemptResult } from '../../../appliance/delivery/attempt.ts'
import { createDispatcher } from '../../../appliance/delivery/dispatch.ts'
import type { DispatchDeps } from '../../../appliance/delivery/dispatch-deps.ts'
import type { LeasedDelivery } from '../../../appliance/storage/storage.ts'
import { createSilentLogger } from '../../../appliance/watch/log.ts'
import { createTestClock } from '../../world/clock.ts'

const HOUR = 3_600_000

/** Starts a dispatcher whose storage returns a lease when told to. Records which deliveries it gives back. */
function begin() {
  const asked = Promise.withResolvers<void>()
  const leased = Promise.withResolvers<LeasedDelivery[]>()
  const back: string[] = []
  const deps: DispatchDeps = {
    abandon: () => undefined,
    storage: {
      lease: () => {
        asked.resolve()
        return leased.promise
      },
      settle: () => Promise.reject(new Error('nothing is settled here')),
      unlease: async ({ deliveryIds }) => void back.push(...deliveryIds),
      leasedUntil: async () => [],
      leaseOwners: async () => [],
      voidLeases: async () => 0,
      nextDue: async () => undefined,
    },
    lanes: {
      refresh: async () => undefined,
      room: () => ({ room: {}, closed: [], opensAt: null }),
      reserve: () => () => undefined,
      isLow: () => false,
      dismiss: () => undefined,
    },
    clock: createTestClock(),
    log: createSilentLogger(),
    owner: 'owner',
    maxConnections: 10,
    pollMs: 1000,
    attempt: () => Promise.reject(new Error('nothing is tried here')),
  }
  return { deps, dispatcher: createDispatcher(deps), asked: asked.promise, lease: leased.resolve, back }
}

const delivery = {
  id: 'd1',
  emailId: 'e1',
  domain: 'example.test',
  pool: 'default',
  provider: 'example.test',
  leaseUntil: Infinity,
} as LeasedDelivery

test('deliveries leased while the dispatcher stops are released at once', async () => {
  const { dispatcher, asked, lease, back } = begin()
  await dispatcher.start()
  await asked
  const stopping = dispatcher.stop(60_000)
  lease([delivery])
  expect(await stopping).toBe(0)
  expect(back).toEqual(['d1'])
})

test('releases deliveries leased by a failed storage call before the next lease, except those in flight', async () => {
  const { deps, back } = begin()
  const ends: number[] = []
  let flying = false
  const dispatcher = createDispatcher({
    ...deps,
    storage: {
      ...deps.storage,
      lease: async ({ leaseUntil }) => {
        ends.push(leaseUntil)
        if (ends.length === 1) return [{ ...delivery, leaseUntil }]
        if (ends.length === 2) throw new Error('The server was killed.')
        return []
      },
      leasedUntil: async ({ owner, leaseUntil }) => {
        expect({ owner, leaseUntil, asked: ends.length }).toEqual({
          owner: 'owner',
          leaseUntil: ends[1],
          asked: 2,
        })
        return ['d1', 'd2']
      },
    },
    attempt: () => {
      flying = true
      return new Promise(() => undefined)
    },
  })
  await dispatcher.start()
  await expect.poll(() => flying).toBe(true)
  await expect.poll(() => ends.length).toBe(2)
  dispatcher.wake()
  await expect.poll(() => ends.length).toBeGreaterThan(2)
  expect(back).toEqual(['d2'])
})

test.each([
  [
    'the storage',
    Object.assign(new Error('The server was killed.'), { kind: 'transient' }),
    [['d1', 10_000]],
  ],
  ['a bug', new TypeError('This is undefined.'), []],
])(
  'after an error from %s before sending, a delivery is due again soon only if the error is transient',
  async (_, cause, expected) => {
    const { deps } = begin()
    const back: unknown[] = []
    let leases = 0
    let down = true
    const dispatcher = createDispatcher({
      ...deps,
      storage: {
        ...deps.storage,
        lease: async ({ leaseUntil }) => (++leases === 1 ? [{ ...delivery, leaseUntil }] : []),
        unlease: async ({ deliveryIds, dueAt }, now) => {
          if (!down) back.push([...deliveryIds, dueAt! - now])
          else {
            down = false
            throw cause
          }
        },
      },
      attempt: () => Promise.reject(new NotSentError('Not sent.', { cause })),
    })
    await dispatcher.start()
    await expect.poll(() => leases).toBeGreaterThan(1)
    expect(back).toEqual(expected)
  },
)

test('a delivery leased again after a clock jump is not sent twice if its first attempt ends meanwhile', async () => {
  const clock = createTestClock()
  const leases: ((leased: LeasedDelivery[]) => void)[] = []
  const attempts: ((tried: AttemptResult) => void)[] = []
  const done: string[] = []
  const dispatcher = createDispatcher({
    ...begin().deps,
    clock,
    pollMs: 5 * HOUR,
    storage: {
      ...begin().deps.storage,
      lease: () => new Promise((resolve) => leases.push(resolve)),
      unlease: async ({ deliveryIds }) => void done.push(...deliveryIds),
    },
    attempt: () => new Promise((resolve) => attempts.push(resolve)),
  })
  const answer = async (count: number, leased: object[]) => {
    await expect.poll(() => leases.length).toBe(count)
    leases[count - 1]!(leased as LeasedDelivery[])
  }
  await dispatcher.start()
  await answer(1, [{ ...delivery, leaseUntil: clock.now() + HOUR }])
  await expect.poll(() => attempts.length).toBe(1)
  await clock.advance(10)
  await answer(2, [])
  await clock.advance(2 * HOUR)
  dispatcher.wake()
  await expect.poll(() => leases.length).toBe(3)
  attempts[0]!({
    settle: null,
    giveBack: { deliveryIds: ['d1'], dueAt: undefined },
    settled: () => true,
  })
  await expect.poll(() => done).toEqual(['d1'])
  await answer(3, [{ ...delivery, leaseUntil: clock.now() + HOUR }])
  // What is leased after that is a new attempt.
  await expect.poll(() => leases.length).toBe(4)
  expect(attempts).toHaveLength(1)
  await answer(4, [{ ...delivery, leaseUntil: clock.now() + HOUR }])
  await expect.poll(() => attempts.length).toBe(2)
})

test('stop() does not wait for an unresponsive storage beyond its timeout', async () => {
  const { dispatcher, asked } = begin()
  await dispatcher.start()
  await asked
  expect(await dispatcher.stop(0)).toBe(0)
})
