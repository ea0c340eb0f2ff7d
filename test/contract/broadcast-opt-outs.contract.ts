import { expect, test } from 'vitest'
import type { Storage } from '../../appliance/storage/storage.ts'
import { person } from './audience-stage.ts'
import { broadcastStage } from './broadcast-stage.ts'
import { T0 } from './fixtures.ts'

/** Tests when recipients of a broadcast are skipped because they opted out. */
export function broadcastOptOutsContract(storage: () => Storage): void {
  test('recipients that opted out before the start are skipped before anything is queued', async () => {
    const { join, addTopic, sending, waiting, get } = await broadcastStage(storage())
    const topic = await addTopic({ name: 'News' })
    const plain = await join()
    await join({ unsubscribed: true })
    await join({ topics: [{ id: topic.id, subscription: 'opt_out' }] })
    const id = await sending({ topicId: topic.id })
    expect((await waiting(id)).map(({ contactId }) => contactId)).toEqual([plain.id])
    expect(await get(id)).toMatchObject({ expanded: 3, skipped: { unsubscribed: 1, topic: 1 } })
  })

  test('a broadcast on an opt-in topic reaches only contacts who opted in', async () => {
    const { join, addTopic, sending, waiting, get } = await broadcastStage(storage())
    const topic = await addTopic({ defaultSubscription: 'opt_out' })
    await join()
    const asked = await join({ topics: [{ id: topic.id, subscription: 'opt_in' }] })
    const id = await sending({ topicId: topic.id })
    expect((await waiting(id)).map(({ contactId }) => contactId)).toEqual([asked.id])
    expect(await get(id)).toMatchObject({ expanded: 2, skipped: { topic: 1 } })
  })

  test('recipients that opt out after the start are skipped when they are queued', async () => {
    const { teamId, join, update, addTopic, sending, enqueue, get } = await broadcastStage(storage())
    const topic = await addTopic({ name: 'News' })
    const [left, offTopic] = [await join(), await join(), await join()]
    const id = await sending({ topicId: topic.id })
    expect(await get(id)).toMatchObject({ expanded: 3, skipped: {} })
    await update(left.id, { unsubscribed: true }, person)
    const change = { topics: [{ id: topic.id, subscription: 'opt_out' as const }] }
    const whose = { teamId, contactId: offTopic.id, address: offTopic.email }
    await storage().savePreferences({ ...whose, change, act: person }, T0)
    expect(await enqueue(id)).toEqual({ enqueued: 1, skipped: 2 })
    expect(await get(id)).toMatchObject({ skipped: { unsubscribed: 1, topic: 1 } })
  })
}
