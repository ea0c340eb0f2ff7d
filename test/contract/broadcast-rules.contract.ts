import { expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { Storage } from '../../appliance/storage/storage.ts'
import { broadcastStage } from './broadcast-stage.ts'
import { MINUTE, T0 } from './fixtures.ts'

/** Tests recipients of a broadcast to a segment with rules. */
export function broadcastRulesContract(storage: () => Storage): void {
  /** Stores a segment of those with this first name. Returns its id. */
  const ruled = async (teamId: string, value: string) => {
    const rule = { type: 'rule', field: 'contact.first_name', operator: 'eq', value } as const
    const filter = { type: 'and' as const, rules: [rule] }
    const segment = { id: newId(T0), teamId, name: value, filter, createdAt: T0, updatedAt: T0 }
    expect(await storage().createSegment({ segment, most: 100 }, T0)).toBe(true)
    return segment.id
  }

  test('finds recipients by the rules of a segment, and excludes those that match the rules of another', async () => {
    const { teamId, add, draft, start, waiting } = await broadcastStage(storage())
    const ada = await add({ firstName: 'Ada' })
    await add({ firstName: 'Bob' })
    const [segmentId, exclude] = [await ruled(teamId, 'Ada'), [await ruled(teamId, 'Bob')]]
    const id = await draft({ segmentId, exclude })
    await start(id)
    expect(await storage().expandBroadcast({ id, most: 2 }, T0 + MINUTE)).toBe('rules')
    expect(await storage().expandByRules({ id, most: 2 }, T0 + MINUTE)).toBe('all')
    expect((await waiting(id)).map(({ contactId }) => contactId)).toEqual([ada.id])
  })

  test('recipients that match the rules but opted out are skipped when they are found', async () => {
    const { teamId, add, addTopic, draft, start, waiting, get } = await broadcastStage(storage())
    const topic = await addTopic({ name: 'News' })
    const ada = await add({ firstName: 'Ada' })
    await add({ firstName: 'Ada', unsubscribed: true })
    await add({ firstName: 'Ada', topics: [{ id: topic.id, subscription: 'opt_out' }] })
    const id = await draft({ segmentId: await ruled(teamId, 'Ada'), topicId: topic.id })
    await start(id)
    expect(await storage().expandByRules({ id, most: 9 }, T0 + MINUTE)).toBe('all')
    expect((await waiting(id)).map(({ contactId }) => contactId)).toEqual([ada.id])
    expect(await get(id)).toMatchObject({ expanded: 3, skipped: { unsubscribed: 1, topic: 1 } })
  })

  test('a step examines up to ten times as many contacts as it may return', async () => {
    const { teamId, add, draft, start, waiting } = await broadcastStage(storage())
    for (let n = 0; n < 22; n++) await add({ firstName: 'Bob' })
    const ada = await add({ firstName: 'Ada' })
    const id = await draft({ segmentId: await ruled(teamId, 'Ada') })
    await start(id)
    const step = () => storage().expandByRules({ id, most: 1 }, T0 + MINUTE)
    expect([await step(), await step(), (await waiting(id)).length]).toEqual(['more', 'more', 0])
    expect([await step(), await step()]).toEqual(['more', 'all'])
    expect((await waiting(id)).map(({ contactId }) => contactId)).toEqual([ada.id])
  })
}
