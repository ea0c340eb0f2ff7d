import { expect, test } from 'vitest'
import { loadProviders } from '../../../appliance/config/config.ts'
import { LaneMemory } from '../../../appliance/delivery/lane-history.ts'
import { Providers } from '../../../appliance/shaping/shaping.ts'
import type { LaneDay } from '../../../appliance/storage/storage.ts'
import { createSilentLogger } from '../../../appliance/watch/log.ts'
import { createTestClock } from '../../world/clock.ts'
import { auto } from './lanes-and-policies.ts'

test('lanes and counts that could not be saved are saved later, without another conversation', async () => {
  const clock = createTestClock()
  const table = loadProviders({ connections: 10 })
  const providers = new Providers(table)
  const days: LaneDay[] = []
  let [attempts, lanes, isFull] = [0, 0, true]
  const refuseWhenFull = (): void => {
    if (isFull) throw new Error('the disk is full')
  }
  const storage = {
    listLanes: async () => [],
    saveLanes: async (saved: { lanes: unknown[] }) => {
      attempts += 1
      refuseWhenFull()
      lanes += saved.lanes.length
    },
    addLaneDays: async (added: { days: LaneDay[] }) => {
      refuseWhenFull()
      days.push(...added.days)
    },
  }
  const log = createSilentLogger()
  const memory = new LaneMemory({ storage, clock, log, table: () => table, providers: () => providers })
  const lane = memory.lane(auto, providers.get(table.providers[0]!.id))
  const taken = { kind: 'taken', since: 0, said: null, note: '', recipients: 2, final: true } as const
  memory.count(lane, taken, clock.now())
  await clock.advance(1000)
  await expect.poll(() => attempts).toBe(1)
  isFull = false
  await clock.advance(10_000)
  await expect.poll(() => [lanes, days.map(({ delivered }) => delivered)]).toEqual([1, [2]])
  await memory.stop()
})
