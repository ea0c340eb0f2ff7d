import { describe, expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { Segment, Storage, Topic } from '../../appliance/storage/storage.ts'
import { act, audienceStage, explicit, person } from './audience-stage.ts'
import { DAY, T0, unique } from './fixtures.ts'

/** Tests of segments, topics and properties. */
export function audienceListsContract(storage: () => Storage): void {
  describe('segments', () => segmentTests(storage))
  describe('topics', () => topicTests(storage))
  describe('properties', () => propertyTests(storage))
}

function segmentTests(storage: () => Storage): void {
  test('creates segments up to the limit of the team, renames them, and lists them with their sizes', async () => {
    const { teamId, addSegment, add } = await audienceStage(storage())
    const other = await audienceStage(storage())
    const [one, two] = [await addSegment('One'), await addSegment('Two')]
    await add({ segmentIds: [one.id, one.id] })
    const third = { ...two, id: newId(T0) }
    expect(await storage().createSegment({ segment: third, most: 2 }, T0)).toBe(false)
    const rename = (team: string) =>
      storage().updateSegment({ teamId: team, id: two.id, change: { name: 'Zwei' } }, T0 + 1)
    expect(await rename(other.teamId)).toBe(false)
    expect(await rename(teamId)).toBe(true)
    expect(await storage().listSegments({ teamId }, T0)).toEqual([
      { ...two, name: 'Zwei', updatedAt: T0 + 1, contacts: 0, countedAt: null },
      { ...one, contacts: 1, countedAt: null },
    ])
    expect(await storage().getSegment({ teamId: other.teamId, id: one.id }, T0)).toBeUndefined()
  })

  test('counts the subscribed, unsuppressed contacts of a segment by provider', async () => {
    const { teamId, addSegment, add } = await audienceStage(storage())
    const { id } = await addSegment('Providers')
    const [known, unknown] = [`${unique('known')}.example`, `${unique('new')}.example`]
    await storage().place({ domain: known, provider: 'google' }, T0)
    const addAt = (local: string, domain: string, more: object = {}) =>
      add({ email: `${local}@${domain}`, segmentIds: [id], ...more })
    for (const local of ['a', 'b', '"x@y"']) await addAt(local, known)
    await addAt('c', known, { unsubscribed: true })
    await addAt('d', unknown)
    const { email } = await addAt('e', unknown)
    const entry = { id: newId(T0), teamId, email, origin: 'manual' as const, sourceId: null, createdAt: T0 }
    await storage().addSuppressions({ teamId, suppressions: [entry] }, T0)
    await add({ email: `elsewhere@${known}` })
    const { contacts, providers, next } = await storage().segmentProviders({ teamId, segmentId: id }, T0)
    expect([contacts, next]).toEqual([6, null])
    expect(providers.toSorted((a, b) => b.contacts - a.contacts)).toEqual([
      { provider: 'google', contacts: 3 },
      { provider: '', contacts: 1 },
    ])
    const theirs = { teamId: newId(T0), segmentId: id }
    expect((await storage().segmentProviders(theirs, T0)).contacts).toBe(0)
  })

  test('records segment sizes once a day and removes old days', async () => {
    const { teamId, addSegment, add } = await audienceStage(storage())
    const [one, empty] = [await addSegment('One'), await addSegment('Empty')]
    const ruled: Segment = {
      ...one,
      id: newId(T0),
      filter: { type: 'rule', field: 'contact.email', operator: 'exists' },
    }
    expect(await storage().createSegment({ segment: ruled, most: 9 }, T0)).toBe(true)
    const record = (now: number, before = '2000-01-01') => storage().recordSegmentDays({ before }, now)
    const days = (segmentId: string, from = '2026-01-01') => storage().segmentDays({ segmentId, from }, T0)
    await record(T0)
    await add({ segmentIds: [one.id] })
    await record(T0 + 1)
    await storage().saveSegmentCount({ id: ruled.id, filter: ruled.filter!, contacts: 7 }, T0 + DAY)
    await add({ segmentIds: [one.id] })
    await record(T0 + DAY + 1)
    await record(T0 + 2 * DAY)
    const first = { date: '2026-01-01', contacts: 1 }
    const rest = [2, 3].map((day) => ({ date: `2026-01-0${day}`, contacts: 2 }))
    expect(await days(one.id)).toEqual([first, ...rest])
    expect(await days(one.id, '2026-01-02')).toEqual(rest)
    expect((await days(empty.id)).map(({ contacts }) => contacts)).toEqual([0, 0, 0])
    expect(await days(ruled.id)).toEqual([{ date: '2026-01-02', contacts: 7 }])
    await record(T0 + 2 * DAY, '2026-01-03')
    expect(await days(one.id)).toEqual(rest.slice(1))
    await storage().deleteSegment({ teamId, id: one.id }, T0 + 2 * DAY)
    await record(T0 + 3 * DAY)
    expect(await days(one.id, '2026-01-04')).toEqual([])
  })

  test('adds contacts to a segment and removes them, with one event for each change', async () => {
    const { teamId, addSegment, add, events } = await audienceStage(storage())
    const segment = await addSegment('VIP')
    const ada = await add()
    const ref = { email: ada.email.toUpperCase() }
    const args = { teamId, ref, segmentId: segment.id }
    expect(await storage().addToSegment(args, T0 + 1)).toEqual(ada)
    expect(await storage().addToSegment(args, T0 + 2)).toEqual(ada)
    expect(await storage().isInSegment(args, T0)).toBe(true)
    const page = { teamId, contactId: ada.id, limit: 10 }
    expect(await storage().listContactSegments(page, T0)).toEqual({
      items: [{ id: segment.id, name: 'VIP', addedAt: T0 + 1 }],
      hasMore: false,
    })
    expect(await storage().removeFromSegment(args, T0 + 3)).toEqual(ada)
    expect(await storage().removeFromSegment(args, T0 + 3)).toEqual(ada)
    expect(await storage().listContactSegments(page, T0)).toEqual({ items: [], hasMore: false })
    const segments = (await events()).map(({ data }) => data.contact?.segmentIds)
    expect(segments).toEqual([[], [segment.id], []])
    expect(await storage().isInSegment(args, T0)).toBe(false)
    const nobody = { ...args, ref: { id: newId(T0) } }
    expect(await storage().isInSegment(nobody, T0)).toBe(false)
    expect(await storage().addToSegment(nobody, T0)).toBe('no_contact')
    expect(await storage().removeFromSegment(nobody, T0)).toBe('no_contact')
    expect(await storage().addToSegment({ ...args, segmentId: newId(T0) }, T0)).toEqual({
      kind: 'unknown_segment',
      id: expect.any(String) as string,
    })
    expect(await storage().removeFromSegment({ ...args, segmentId: newId(T0) }, T0)).toEqual({
      kind: 'unknown_segment',
      id: expect.any(String) as string,
    })
  })

  test('hides a deleted segment or topic at once, and removes its rows in steps', async () => {
    const { teamId, addSegment, addTopic, add, choicesOf } = await audienceStage(storage())
    const [segment, topic] = [await addSegment(), await addTopic({ defaultSubscription: 'opt_out' })]
    const topics = [{ id: topic.id, subscription: 'opt_in' as const }]
    const made = [
      await add({ segmentIds: [segment.id], topics }),
      await add({ segmentIds: [segment.id], topics }),
    ]
    expect(await storage().deleteSegment({ teamId, id: segment.id }, T0)).toBe(true)
    expect(await storage().deleteSegment({ teamId, id: segment.id }, T0)).toBe(false)
    expect(await storage().deleteTopic({ teamId, id: topic.id }, T0)).toMatchObject({ id: topic.id })
    expect(await storage().deleteTopic({ teamId, id: topic.id }, T0)).toBeUndefined()
    expect(await storage().getSegment({ teamId, id: segment.id }, T0)).toBeUndefined()
    expect(await storage().listTopics({ teamId }, T0)).toEqual([])
    expect(await choicesOf(made[0]!.id)).toEqual([])
    expect(await storage().listContactSegments({ teamId, contactId: made[0]!.id, limit: 5 }, T0)).toEqual({
      items: [],
      hasMore: false,
    })
    let steps = 0
    while (await storage().sweepDeleted({ most: 1 }, T0)) steps += 1
    // At least two rows and one lookup for each of the two.
    expect(steps).toBeGreaterThanOrEqual(6)
    expect(await storage().listContacts({ teamId, segmentId: segment.id, limit: 5 }, T0)).toEqual({
      items: [],
      hasMore: false,
    })
  })
}

function topicTests(storage: () => Storage): void {
  test('the topics of a contact reflect its choice, or else the default of the topic', async () => {
    const { teamId, addTopic, add, choicesOf, events } = await audienceStage(storage())
    const [news, offers] = [await addTopic(), await addTopic({ defaultSubscription: 'opt_out' })]
    const ada = await add()
    expect(await choicesOf(ada.id)).toEqual([
      [offers.id, 'opt_out'],
      [news.id, 'opt_in'],
    ])
    const set = (topics: [string, 'opt_in' | 'opt_out'][], by = explicit) =>
      storage().setContactTopics(
        {
          teamId,
          ref: { id: ada.id },
          act: by,
          topics: topics.map(([id, subscription]) => ({ id, subscription })),
        },
        T0 + 1,
      )
    expect(await set([[offers.id, 'opt_in']])).toEqual(ada)
    expect(await set([[offers.id, 'opt_in']])).toEqual(ada)
    expect(await set([[news.id, 'opt_out']], person)).toEqual(ada)
    expect(await set([[news.id, 'opt_in']], act({ origin: 'import' }))).toEqual(ada)
    expect(await set([[newId(T0), 'opt_in']])).toMatchObject({ kind: 'unknown_topic' })
    const contact = await storage().listContactTopics({ teamId, contactId: ada.id }, T0)
    expect(contact).toMatchObject([
      { subscription: 'opt_in', choice: { origin: 'api', changedAt: T0 + 1 } },
      { subscription: 'opt_out', choice: { origin: 'person' } },
    ])
    expect(await storage().listTopics({ teamId }, T0)).toMatchObject([
      { id: offers.id, optedIn: 1, optedOut: 0 },
      { id: news.id, optedIn: 0, optedOut: 1 },
    ])
    const choices = (await events()).flatMap(({ data }) => data.choices ?? [])
    expect(choices).toEqual([
      { email: ada.email, topics: [{ id: offers.id, subscription: 'opt_in' }] },
      { email: ada.email, topics: [{ id: news.id, subscription: 'opt_out' }] },
    ])
    const nobody = { teamId, ref: { id: newId(T0) }, topics: [], act: explicit }
    expect(await storage().setContactTopics(nobody, T0)).toBeUndefined()
  })

  test('updates topics only within their team, with an event for each change', async () => {
    const { teamId, addTopic, events } = await audienceStage(storage())
    const topic = await addTopic({ name: 'News', description: 'Monthly' })
    const update = (change: Partial<Topic>) => storage().updateTopic({ teamId, id: topic.id, change }, T0 + 1)
    const next = { ...topic, name: 'Updates', description: null, visibility: 'public', updatedAt: T0 + 1 }
    expect(await update({ name: 'Updates', description: null, visibility: 'public' })).toEqual(next)
    expect(await storage().updateTopic({ teamId: newId(T0), id: topic.id, change: {} }, T0)).toBeUndefined()
    const over = { ...topic, id: newId(T0) }
    expect(await storage().createTopic({ topic: over, most: 1 }, T0)).toBe(false)
    await storage().deleteTopic({ teamId, id: topic.id }, T0 + 2)
    const about = { id: topic.id, defaultSubscription: 'opt_in', createdAt: T0 }
    expect(await events()).toEqual([
      {
        type: 'topic.created',
        data: { topic: { ...about, name: 'News', description: 'Monthly', deleted: false, updatedAt: T0 } },
      },
      {
        type: 'topic.updated',
        data: { topic: { ...about, name: 'Updates', description: null, deleted: false, updatedAt: T0 + 1 } },
      },
      {
        type: 'topic.deleted',
        data: { topic: { ...about, name: 'Updates', description: null, deleted: true, updatedAt: T0 + 2 } },
      },
    ])
  })

  test('returns for each address whether it receives a topic', async () => {
    const { teamId, addTopic, add } = await audienceStage(storage())
    const [news, offers] = [await addTopic(), await addTopic({ defaultSubscription: 'opt_out' })]
    const chose = (id: string, subscription: 'opt_in' | 'opt_out') => [{ id, subscription }]
    const inside = await add({ topics: chose(offers.id, 'opt_in') })
    const outside = await add({ topics: chose(news.id, 'opt_out') })
    const nothing = await add({ unsubscribed: true, topics: chose(offers.id, 'opt_in') })
    const addresses = [inside.email.toUpperCase(), outside.email, nothing.email, 'stranger@example.com']
    const ask = async (topicId: string) =>
      (await storage().topicRecipients({ teamId, topicId, addresses }, T0))?.map((one) => one.subscription)
    expect(await ask(news.id)).toEqual(['opt_in', 'opt_out', 'opt_out', 'opt_in'])
    expect(await ask(offers.id)).toEqual(['opt_in', 'opt_out', 'opt_out', 'opt_out'])
    expect(await ask(newId(T0))).toBeUndefined()
  })
}

function propertyTests(storage: () => Storage): void {
  test('contact properties have a key that is unique in the team, and a fallback', async () => {
    const { teamId } = await audienceStage(storage())
    const other = await audienceStage(storage())
    const property = (key: string, team = teamId) => ({
      id: newId(T0),
      teamId: team,
      key,
      label: unique('p'),
      type: 'string' as const,
      createdAt: T0,
      fallback: 'there',
    })
    const create = (one: ReturnType<typeof property>, most = 10) =>
      storage().createContactProperty({ property: one, most }, T0)
    const plan = property('plan')
    expect(await create(plan)).toBe('created')
    expect(await create(property('plan'))).toBe('taken')
    expect(await create(property('Plan'), 1)).toBe('too_many')
    const upper = property('Plan')
    expect(await create(upper)).toBe('created')
    expect(await create(property('plan', other.teamId))).toBe('created')
    const set = (team: string, fallback: string | number | null) =>
      storage().setFallback({ teamId: team, id: plan.id, fallback }, T0)
    expect(await set(other.teamId, 'x')).toBe(false)
    expect(await set(teamId, null)).toBe(true)
    expect(await storage().listContactProperties({ teamId }, T0)).toEqual([
      upper,
      { ...plan, fallback: null },
    ])
    expect(await storage().propertyUses({ teamId, key: 'plan', most: 9 }, T0)).toEqual([])
    expect(await set(teamId, 7.5)).toBe(true)
    const remove = (id: string) => storage().deleteContactProperty({ teamId, id }, T0)
    expect([await remove(upper.id), await remove(upper.id)]).toEqual([true, false])
    expect(await storage().listContactProperties({ teamId }, T0)).toEqual([{ ...plan, fallback: 7.5 }])
  })
}
