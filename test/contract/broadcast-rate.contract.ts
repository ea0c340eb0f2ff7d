import { expect, test } from 'vitest'
import type { Storage } from '../../appliance/storage/storage.ts'
import { broadcastStage } from './broadcast-stage.ts'
import { MINUTE, T0 } from './fixtures.ts'

/** Tests the rate of a broadcast. */
export function broadcastRateContract(storage: () => Storage): void {
  test('queuing sets the time of the next email by the rate, in the same transaction', async () => {
    const { join, sending, enqueue, get } = await broadcastStage(storage())
    for (let n = 0; n < 3; n++) await join()
    const id = await sending({ hourlyRate: 60 })
    expect(await get(id)).toMatchObject({ hourlyRate: 60, nextAt: null })
    expect(await enqueue(id, T0 + MINUTE)).toEqual({ enqueued: 3, skipped: 0 })
    expect(await get(id)).toMatchObject({ enqueued: 3, nextAt: T0 + 4 * MINUTE })
  })

  test('a skipped recipient does not count toward the rate', async () => {
    const { join, remove, sending, enqueue, get } = await broadcastStage(storage())
    const [gone] = [await join(), await join()]
    const id = await sending({ hourlyRate: 60 })
    await remove(gone.id)
    expect(await enqueue(id, T0 + MINUTE)).toEqual({ enqueued: 1, skipped: 1 })
    expect(await get(id)).toMatchObject({ nextAt: T0 + 2 * MINUTE })
  })

  test('without a rate, there is no time for the next email', async () => {
    const { join, sending, enqueue, get } = await broadcastStage(storage())
    await join()
    const id = await sending()
    await enqueue(id)
    expect(await get(id)).toMatchObject({ hourlyRate: null, nextAt: null })
  })

  test('the rate can be changed until the broadcast is sent, which does not count as an edit of the draft', async () => {
    const { teamId, draft, start, get } = await broadcastStage(storage())
    const id = await draft()
    const change = (hourlyRate: number | null) =>
      storage().updateBroadcast({ teamId, id, change: { hourlyRate } }, T0)
    expect(await change(500)).toBe('done')
    expect(await get(id)).toMatchObject({ hourlyRate: 500, edits: 0 })
    await start(id)
    expect(await change(100)).toBe('done')
    await storage().pauseBroadcast({ teamId, id, reason: 'person', figures: null }, T0)
    expect(await change(null)).toBe('done')
    expect(await get(id)).toMatchObject({ hourlyRate: null, edits: 0, status: 'queued' })
    await storage().endBroadcast({ id, was: 'queued', status: 'sent', problem: null }, T0)
    expect(await change(7)).toBe('wrong_status')
    expect(await get(id)).toMatchObject({ hourlyRate: null })
  })
}
