import { expect, test } from 'vitest'
import { createDispatcher } from '../../../appliance/delivery/dispatch.ts'
import type { LeasedDelivery } from '../../../appliance/storage/storage.ts'
import { silentLogger } from '../../../appliance/watch/log.ts'
import { createTestClock } from '../../world/clock.ts'

/** Starts a dispatcher whose storage returns a lease when told to. Records which deliveries it gives back. */
function begin() {
  const asked = Promise.withResolvers<void>()
  const leased = Promise.withResolvers<LeasedDelivery[]>()
  const back: string[] = []
  const dispatcher = createDispatcher({
    abandon: () => undefined,
    storage: {
      lease: () => {
        asked.resolve()
        return leased.promise
      },
      settle: () => Promise.reject(new Error('nothing is settled here')),
      unlease: async ({ deliveryIds }) => void back.push(...deliveryIds),
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
    ...{ clock: createTestClock(), log: silentLogger(), owner: 'owner', maxConnections: 10, pollMs: 1000 },
    attempt: () => Promise.reject(new Error('nothing is tried here')),
  })
  return { dispatcher, asked: asked.promise, lease: leased.resolve, back }
}

const delivery = {
  ...{ id: 'd1', emailId: 'e1', domain: 'example.test', pool: 'default', provider: 'example.test' },
  leaseUntil: Infinity,
} as LeasedDelivery

test('what is leased while the dispatcher stops goes back at once: left leased, it would wait for its next time', async () => {
  const { dispatcher, asked, lease, back } = begin()
  await dispatcher.start()
  await asked
  const stopping = dispatcher.stop(60_000)
  lease([delivery])
  expect(await stopping).toBe(0)
  expect(back).toEqual(['d1'])
})

test('a storage that does not answer holds a stop no longer than it may take', async () => {
  const { dispatcher, asked } = begin()
  await dispatcher.start()
  await asked
  expect(await dispatcher.stop(0)).toBe(0)
})
