import { expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { ContactBatchChange, Storage } from '../../appliance/storage/storage.ts'
import { audienceStage, explicit, person } from './audience-stage.ts'
import { T0 } from './fixtures.ts'

async function stage(storage: Storage) {
  const all = await audienceStage(storage)
  const { teamId } = all
  const change = (ids: string[], what: ContactBatchChange) =>
    storage.changeContacts({ teamId, ids, change: what, act: explicit }, T0 + 3)
  const suppress = async (email: string) => {
    const entry = { id: newId(T0), teamId, email, origin: 'manual' as const, sourceId: null, createdAt: T0 }
    await storage.addSuppressions({ teamId, suppressions: [entry] }, T0)
  }
  return { ...all, change, suppress }
}

/** Tests of changing and reading many contacts at once. */
export function contactBatchesContract(storage: () => Storage): void {
  test('adds several contacts to a segment and removes them, skipping deleted ones', async () => {
    const { teamId, add, addSegment, change, told } = await stage(storage())
    const [segment, ada, eve] = [await addSegment(), await add(), await add()]
    const ids = [ada.id, newId(T0), eve.id]
    const size = async () => (await storage().getSegment({ teamId, id: segment.id }, T0))?.contacts
    const segmentId = segment.id
    expect(await change(ids, { kind: 'add_to_segment', segmentId })).toEqual({ found: 2 })
    expect(await change([ada.id], { kind: 'add_to_segment', segmentId })).toEqual({ found: 1 })
    expect(await size()).toBe(2)
    expect(await change([eve.id], { kind: 'remove_from_segment', segmentId })).toEqual({ found: 1 })
    expect(await size()).toBe(1)
    const unknown = newId(T0)
    const missing = await change(ids, { kind: 'add_to_segment', segmentId: unknown })
    expect(missing).toEqual({ kind: 'unknown_segment', id: unknown })
    expect(await told()).toEqual([
      'contact.created',
      'contact.created',
      'contact.updated',
      'contact.updated',
      'contact.updated',
    ])
  })

  test('sets a topic choice, unsubscribes, or deletes several contacts, with an event for each changed contact', async () => {
    const { teamId, add, addTopic, change, choicesOf, counts, get, told } = await stage(storage())
    const [topic, ada, eve] = [await addTopic(), await add(), await add({ unsubscribed: true }, person)]
    const ids = [ada.id, eve.id]
    const choice = { kind: 'choose' as const, topicId: topic.id, subscription: 'opt_out' as const }
    expect(await change(ids, choice)).toEqual({ found: 2 })
    expect(await choicesOf(ada.id)).toEqual([[topic.id, 'opt_out']])
    const unknown = newId(T0)
    expect(await change(ids, { ...choice, topicId: unknown })).toEqual({ kind: 'unknown_topic', id: unknown })
    expect(await change(ids, { kind: 'unsubscribe' })).toEqual({ found: 2 })
    expect(await get(ada.id)).toMatchObject({ optOut: { at: T0 + 3, origin: 'api' } })
    expect(await get(eve.id)).toMatchObject({ optOut: { at: T0, origin: 'person' } })
    expect(await counts()).toEqual({ contacts: 2, unsubscribed: 2 })
    expect(await change([...ids, ada.id], { kind: 'delete' })).toEqual({ found: 2 })
    expect(await counts()).toEqual({ contacts: 0, unsubscribed: 0 })
    expect(await storage().getTopic({ teamId, id: topic.id }, T0)).toMatchObject({ optedOut: 0 })
    expect((await told()).slice(3)).toEqual([
      'contact.topics.updated',
      'contact.topics.updated',
      'contact.updated',
      'contact.deleted',
      'contact.deleted',
    ])
  })

  test('looks up contacts, opt-outs and suppressions by address, including those of deleted contacts', async () => {
    const { teamId, add, remove, suppress } = await stage(storage())
    const [ada, eve] = [await add(), await add({ unsubscribed: true })]
    const gone = await add({ unsubscribed: true }, person)
    await remove(gone.id)
    await suppress(ada.email)
    await suppress('loud@example.com')
    const nobody = { contactId: null, unsubscribed: false, suppressed: false }
    const emails = [ada.email.toUpperCase(), eve.email, gone.email, 'new@example.com', 'loud@example.com']
    expect(await storage().knownAddresses({ teamId, emails }, T0)).toEqual([
      { contactId: ada.id, unsubscribed: false, suppressed: true },
      { contactId: eve.id, unsubscribed: true, suppressed: false },
      { ...nobody, unsubscribed: true },
      nobody,
      { ...nobody, suppressed: true },
    ])
    expect(await storage().knownAddresses({ teamId: newId(T0), emails: [ada.email] }, T0)).toEqual([nobody])
  })

  test('returns the segments and suppressions of the contacts in a list', async () => {
    const { teamId, add, addSegment, suppress } = await stage(storage())
    const [vip, all, old] = [await addSegment('VIP'), await addSegment('All'), await addSegment('Old')]
    const ada = await add({ segmentIds: [vip.id, all.id, old.id] })
    const eve = await add()
    await suppress(eve.email)
    await storage().deleteSegment({ teamId, id: old.id }, T0)
    const contextOf = (contacts: { id: string; email: string }[]) =>
      storage().contactContext({ teamId, contacts }, T0)
    const segments = [vip, all].map(({ id, name }) => ({ id, name })).toReversed()
    expect(await contextOf([ada, eve])).toEqual({
      segments: new Map([[ada.id, segments]]),
      suppressed: new Set([eve.email]),
    })
    expect(await contextOf([])).toEqual({ segments: new Map(), suppressed: new Set() })
  })

  test('counts matching contacts after a given one', async () => {
    const { teamId, add, addSegment, addTopic } = await stage(storage())
    const [segment, topic] = [await addSegment(), await addTopic()]
    const topics = [{ id: topic.id, subscription: 'opt_out' as const }]
    const [one, two] = [await add({ firstName: 'Joanne', segmentIds: [segment.id] }), await add({ topics })]
    await add({ unsubscribed: true, firstName: 'Ann', segmentIds: [segment.id] })
    const count = (conditions: object) => storage().countMatching({ teamId, ...conditions }, T0)
    const found = (n: number) => ({ count: n, next: null })
    expect(await count({})).toEqual(found(3))
    expect(await count({ after: two.id })).toEqual(found(1))
    expect(await count({ unsubscribed: true })).toEqual(found(1))
    expect(await count({ text: 'ann' })).toEqual(found(2))
    expect(await count({ segmentId: segment.id, text: 'joanne' })).toEqual(found(1))
    expect(await count({ segmentId: segment.id, after: one.id })).toEqual(found(0))
    expect(await count({ topic: { id: topic.id, subscription: 'opt_out' } })).toEqual(found(1))
    expect(await count({ topic: { id: topic.id, subscription: 'opt_in' } })).toEqual(found(0))
  })
}
