import { describe, expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { Contact, NewContact, Storage } from '../../appliance/storage/storage.ts'
import { act, audienceStage, explicit, newContact, person } from './audience-stage.ts'
import { T0, unique } from './fixtures.ts'

/** Tests of contacts and their opt-outs. */
export function audienceContract(storage: () => Storage): void {
  describe('contacts', () => contactTests(storage))
  describe('opt-outs', () => optOutTests(storage))
}

function contactTests(storage: () => Storage): void {
  test('contacts are unique by address in any case, and found by ID or address in their own team only', async () => {
    const { teamId, add, save, counts } = await audienceStage(storage())
    const other = await audienceStage(storage())
    const email = `${unique('Ada')}@example.com`
    const ada = await add({ email, firstName: 'Ada', properties: { p1: 'pro', p2: 3 } })
    expect(ada).toMatchObject({
      email,
      firstName: 'Ada',
      lastName: null,
      properties: { p1: 'pro', p2: 3 },
      optOut: null,
      createdBy: 'api',
      createdFrom: 'key',
      createdAt: T0,
      updatedAt: T0,
      lastOpenedAt: null,
      lastClickedAt: null,
    })
    const again = newContact(teamId, {
      email: email.toUpperCase(),
      lastName: 'Lovelace',
      properties: { p2: null },
    })
    expect(await save(again, act(), T0 + 3)).toEqual({
      kind: 'updated',
      contact: { ...ada, lastName: 'Lovelace', properties: { p1: 'pro' }, updatedAt: T0 + 3 },
    })
    expect((await save(newContact(teamId, { email }), act(), T0 + 4)).kind).toBe('unchanged')
    const found = await storage().getContact({ teamId, ref: { email: email.toLowerCase() } }, T0)
    expect(found).toMatchObject({ id: ada.id, email, updatedAt: T0 + 3 })
    expect(await storage().getContact({ teamId: other.teamId, ref: { id: ada.id } }, T0)).toBeUndefined()
    expect(await storage().getContact({ teamId: other.teamId, ref: { email } }, T0)).toBeUndefined()
    expect(await counts()).toEqual({ contacts: 1, unsubscribed: 0 })
    expect(await other.counts()).toEqual({ contacts: 0, unsubscribed: 0 })
  })

  test('examples of a property are the distinct values of the newest contacts', async () => {
    const { teamId, add } = await audienceStage(storage())
    const other = await audienceStage(storage())
    await other.add({ properties: { p1: 'theirs' } })
    for (const p1 of ['oldest', 'second', 'second', 'third']) await add({ properties: { p1 } })
    await add({ properties: { p2: 4 } })
    const examples = (label: string, most: number, among: number) =>
      storage().propertyExamples({ teamId, label, most, among }, T0)
    expect(await examples('p1', 3, 100)).toEqual(['third', 'second', 'oldest'])
    expect(await examples('p1', 2, 100)).toEqual(['third', 'second'])
    expect(await examples('p1', 3, 3)).toEqual(['third', 'second'])
    expect(await examples('p2', 3, 100)).toEqual([4])
    expect(await examples('p3', 3, 100)).toEqual([])
  })

  test('stores nothing if a segment or topic does not exist', async () => {
    const { teamId, addSegment, addTopic, save, counts, told } = await audienceStage(storage())
    const other = await audienceStage(storage())
    const [segment, topic] = [await addSegment(), await addTopic()]
    const theirs = await other.addSegment()
    const unknown = newId(T0)
    const save1 = (more: Partial<NewContact>) => save(newContact(teamId, more))
    expect(await save1({ segmentIds: [segment.id, theirs.id] })).toEqual({
      kind: 'unknown_segment',
      id: theirs.id,
    })
    const topics = [topic.id, unknown].map((id) => ({ id, subscription: 'opt_in' as const }))
    expect(await save1({ topics })).toEqual({ kind: 'unknown_topic', id: unknown })
    expect(await counts()).toEqual({ contacts: 0, unsubscribed: 0 })
    expect(await told()).toEqual(['topic.created'])
  })

  test('an update returns the changed contact, and creates no event if nothing changed', async () => {
    const { add, update, events } = await audienceStage(storage())
    const ada = await add({ firstName: 'Ada', properties: { p1: 'x' } })
    expect(await update(ada.id, { firstName: 'Ada' })).toEqual(ada)
    const next = await update(ada.id, {
      firstName: null,
      properties: { p1: null, p2: 2 },
      unsubscribed: false,
    })
    expect(next).toEqual({ ...ada, firstName: null, properties: { p2: 2 }, updatedAt: T0 + 5 })
    const contact = { id: ada.id, email: ada.email, lastName: null, segmentIds: [], createdAt: T0 }
    expect(await events()).toEqual([
      {
        type: 'contact.created',
        data: { contact: { ...contact, firstName: 'Ada', unsubscribed: false, updatedAt: T0 } },
      },
      {
        type: 'contact.updated',
        data: { contact: { ...contact, firstName: null, unsubscribed: false, updatedAt: T0 + 5 } },
      },
    ])
    expect(await update(newId(T0), { firstName: 'Eve' })).toBe('unknown')
  })

  test('changes the address if it is free, and otherwise changes nothing', async () => {
    const { add, update, get } = await audienceStage(storage())
    const [ada, eve] = [await add(), await add()]
    expect(await update(ada.id, { firstName: 'Ada' }, explicit, eve.email.toUpperCase())).toBe('taken')
    expect(await get(ada.id)).toEqual(ada)
    const email = `${unique('new')}@example.com`
    const moved = { ...ada, email, firstName: 'Ada', updatedAt: T0 + 5 }
    expect(await update(ada.id, { firstName: 'Ada' }, explicit, email)).toEqual(moved)
    const upper = email.replace('new', 'New')
    expect(await update(ada.id, {}, explicit, upper)).toEqual({ ...moved, email: upper })
    expect(await get(ada.id)).toEqual({ ...moved, email: upper })
  })

  test('deleting a contact removes it from its segments and topics', async () => {
    const { teamId, addSegment, addTopic, add, get, remove, told, counts } = await audienceStage(storage())
    const [segment, topic] = [await addSegment(), await addTopic()]
    const topics = [{ id: topic.id, subscription: 'opt_in' as const }]
    const ada = await add({ segmentIds: [segment.id], topics, unsubscribed: true })
    expect(await counts()).toEqual({ contacts: 1, unsubscribed: 1 })
    expect(await remove(ada.id)).toEqual(ada)
    expect(await remove(ada.id)).toBeUndefined()
    expect(await get(ada.id)).toBeUndefined()
    expect(await counts()).toEqual({ contacts: 0, unsubscribed: 0 })
    expect(await storage().getSegment({ teamId, id: segment.id }, T0)).toMatchObject({ contacts: 0 })
    expect(await storage().getTopic({ teamId, id: topic.id }, T0)).toMatchObject({ optedIn: 0, optedOut: 0 })
    expect(await told()).toEqual(['topic.created', 'contact.created', 'contact.deleted'])
  })

  test('counts growth by day, for contacts that still exist', async () => {
    const { teamId, add, remove } = await audienceStage(storage())
    const DAY = 86_400_000
    const change = (id: string, unsubscribed: boolean, now: number) =>
      storage().updateContact({ teamId, ref: { id }, change: { unsubscribed }, act: explicit }, now)
    const growth = async (now: number, days = 3) =>
      (await storage().audienceDays({ teamId, days }, now)).map(({ date, created, unsubscribed }) => [
        date,
        created,
        unsubscribed,
      ])
    const [ada, eve] = [await add(), await add({ unsubscribed: true }, act(), T0 + DAY)]
    await add({}, act(), T0 + 2 * DAY - 1)
    await change(ada.id, true, T0 + 2 * DAY)
    const all = [
      ['2026-01-01', 1, 0],
      ['2026-01-02', 2, 1],
      ['2026-01-03', 0, 1],
    ]
    expect(await growth(T0 + 2 * DAY)).toEqual(all)
    expect(await growth(T0 + 3 * DAY - 1, 2)).toEqual(all.slice(1))
    await change(ada.id, false, T0 + 3 * DAY)
    await remove(ada.id)
    await remove(eve.id)
    // The opt-out of the address still is of the second day.
    await add({ email: eve.email }, act(), T0 + 2 * DAY)
    expect(await growth(T0 + 2 * DAY)).toEqual([
      ['2026-01-01', 0, 0],
      ['2026-01-02', 1, 1],
      ['2026-01-03', 1, 0],
    ])
  })

  test('lists contacts newest first, in pages, filtered by segment and subscription', async () => {
    const { teamId, addSegment, add } = await audienceStage(storage())
    const segment = await addSegment()
    const made: Contact[] = []
    for (let i = 0; i < 5; i++)
      made.unshift(await add({ segmentIds: i % 2 ? [segment.id] : [], unsubscribed: i > 2 }, act(), T0 + i))
    const list = async (more: object) => {
      const { items, hasMore } = await storage().listContacts({ teamId, limit: 2, ...more }, T0)
      return [items.map(({ id }) => made.findIndex((one) => one.id === id)), hasMore]
    }
    expect(await list({})).toEqual([[0, 1], true])
    expect(await list({ after: made[1]!.id })).toEqual([[2, 3], true])
    expect(await list({ after: made[3]!.id })).toEqual([[4], false])
    expect(await list({ before: made[3]!.id })).toEqual([[1, 2], true])
    expect(await list({ segmentId: segment.id })).toEqual([[1, 3], false])
    expect(await list({ segmentId: segment.id, after: made[1]!.id })).toEqual([[3], false])
    expect(await list({ segmentId: segment.id, before: made[3]!.id })).toEqual([[1], false])
    expect(await list({ unsubscribed: true })).toEqual([[0, 1], false])
    expect(await list({ unsubscribed: false, limit: 3 })).toEqual([[2, 3, 4], false])
    expect(await list({ segmentId: segment.id, unsubscribed: true })).toEqual([[1], false])
    expect(await list({ segmentId: newId(T0) })).toEqual([[], false])
  })

  test('search matches part of an address or name, without wildcards', async () => {
    const { teamId, addSegment, add } = await audienceStage(storage())
    const segment = await addSegment()
    const one = await add({ email: 'Ann_1@example.com', firstName: 'Ann', segmentIds: [segment.id] })
    const two = await add({ email: 'x@example.com', firstName: 'Joanne', lastName: 'O%Neill' })
    const search = async (text: string, more: object = {}) => {
      const { items, next } = await storage().searchContacts({ teamId, text, limit: 10, ...more }, T0)
      expect(next).toBeNull()
      return items.map(({ id }) => id)
    }
    expect(await search('ANN')).toEqual([two.id, one.id])
    expect(await search('ann_')).toEqual([one.id])
    expect(await search('%n')).toEqual([two.id])
    expect(await search('ann', { segmentId: segment.id })).toEqual([one.id])
    expect(await search('ann', { unsubscribed: true })).toEqual([])
    const whole = await add({ email: 'y.x@example.com', firstName: 'z@example.com' })
    expect(await search('x@example.com')).toEqual([two.id])
    expect(await search('X@Example.COM', { unsubscribed: true })).toEqual([])
    expect(await search('z@example.com')).toEqual([whole.id])
    expect(await search('ann_1@example.com', { segmentId: segment.id })).toEqual([one.id])
    expect(await search('x@example.com', { segmentId: segment.id })).toEqual([])
    const page = await storage().searchContacts({ teamId, text: 'ann', limit: 1 }, T0)
    expect(page).toMatchObject({ items: [{ id: two.id }], next: two.id })
    expect(await search('ann', { after: two.id })).toEqual([one.id])
  })
}

function optOutTests(storage: () => Storage): void {
  test('opt-outs are lifted only by an explicit change, and keep their first time and origin', async () => {
    const { teamId, add, save, update, get, counts } = await audienceStage(storage())
    const ada = await add()
    await update(ada.id, { unsubscribed: true }, person)
    const out = { at: T0 + 5, origin: 'person' }
    const upsert = newContact(teamId, { email: ada.email, unsubscribed: false })
    expect(await save(upsert, act(), T0 + 6)).toMatchObject({ kind: 'unchanged', contact: { optOut: out } })
    await save({ ...upsert, unsubscribed: true }, act({ origin: 'import' }), T0 + 7)
    expect(await get(ada.id)).toMatchObject({ optOut: out })
    expect(await counts()).toEqual({ contacts: 1, unsubscribed: 1 })
    await update(ada.id, { unsubscribed: false })
    expect(await get(ada.id)).toMatchObject({ optOut: null })
    expect(await counts()).toEqual({ contacts: 1, unsubscribed: 0 })
    const log = await storage().listConsents({ teamId, contactId: ada.id, email: ada.email }, T0)
    expect(log).toMatchObject([
      { topicId: null, was: 'opt_out', subscription: 'opt_in', origin: 'api', via: 'api', source: 'key' },
      {
        topicId: null,
        was: 'opt_in',
        subscription: 'opt_out',
        origin: 'person',
        via: 'one_click',
        ip: '192.0.2.1',
      },
    ])
  })

  test('opt-outs survive deletion: a contact created again is still opted out of everything and of its topics', async () => {
    const { teamId, addTopic, add, remove, get, choicesOf, counts, update } = await audienceStage(storage())
    const topic = await addTopic()
    const topics = [{ id: topic.id, subscription: 'opt_out' as const }]
    const ada = await add({ unsubscribed: true, topics }, person)
    await remove(ada.id)
    const asked = { teamId, topicId: topic.id, addresses: [ada.email] }
    expect(await storage().topicRecipients(asked, T0)).toEqual([
      { address: ada.email, contactId: null, subscription: 'opt_out' },
    ])
    const email = ada.email.toUpperCase()
    const opted = [{ id: topic.id, subscription: 'opt_in' as const }]
    const again = await add({ email, unsubscribed: false, topics: opted }, act({ origin: 'import' }), T0 + 20)
    expect(again).toMatchObject({ optOut: { at: T0, origin: 'person' }, createdBy: 'import' })
    expect(await choicesOf(again.id)).toEqual([[topic.id, 'opt_out']])
    expect(await storage().getTopic({ teamId, id: topic.id }, T0)).toMatchObject({ optedIn: 0, optedOut: 1 })
    expect(await counts()).toEqual({ contacts: 1, unsubscribed: 1 })
    const log = await storage().listConsents({ teamId, contactId: again.id, email }, T0)
    expect(log.map(({ contactId, topicId }) => [contactId === ada.id, topicId])).toEqual([
      [true, topic.id],
      [true, null],
    ])
    await update(again.id, { unsubscribed: false })
    await remove(again.id)
    expect((await add({ email }, act(), T0 + 30)).optOut).toBeNull()
    expect(await get(again.id)).toBeUndefined()
  })

  test('opt-outs stay with a contact’s old address, and those of its new address apply', async () => {
    const { addTopic, add, remove, update, choicesOf, counts } = await audienceStage(storage())
    const topic = await addTopic()
    const gone = await add(
      { unsubscribed: true, topics: [{ id: topic.id, subscription: 'opt_out' }] },
      person,
    )
    await remove(gone.id)
    const eve = await add({ topics: [{ id: topic.id, subscription: 'opt_in' }] })
    expect(await update(eve.id, {}, explicit, gone.email)).toMatchObject({
      email: gone.email,
      optOut: { at: T0, origin: 'person' },
    })
    expect(await choicesOf(eve.id)).toEqual([[topic.id, 'opt_out']])
    expect(await counts()).toEqual({ contacts: 1, unsubscribed: 1 })
    const moved = `${unique('moved')}@example.com`
    expect(await update(eve.id, {}, explicit, moved)).toMatchObject({
      email: moved,
      optOut: { origin: 'person' },
    })
    expect(await add({ email: gone.email })).toMatchObject({ optOut: { at: T0, origin: 'person' } })
  })
}
