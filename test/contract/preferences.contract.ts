import { describe, expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import { DEFAULT_PAGE } from '../../appliance/mail/unsubscribe-page.ts'
import type { PreferenceChange, Storage, UnsubscribePageChange } from '../../appliance/storage/storage.ts'
import { audienceStage, person } from './audience-stage.ts'
import { makeTeam, T0 } from './fixtures.ts'

/** Tests of people's choices on the preference page, and of the page's design. */
export function preferencesContract(storage: () => Storage): void {
  describe('preferences', () => preferenceTests(storage))
  describe('preference pages', () => pageTests(storage))
}

async function stage(storage: Storage) {
  const all = await audienceStage(storage)
  const { teamId } = all
  const at = (address: string, contactId: string | null = null) => ({ teamId, contactId, address })
  const read = async (address: string, contactId: string | null = null) => {
    const found = await storage.getPreferences(at(address, contactId), T0)
    const topics = found?.topics.map(({ id, subscription }) => [id, subscription])
    return found && { ...found, topics }
  }
  const save = (address: string, change: Partial<PreferenceChange>, contactId: string | null = null) => {
    const saving = { ...at(address, contactId), change: { topics: [], ...change }, act: person }
    return storage.savePreferences(saving, T0 + 5)
  }
  return { ...all, read, save }
}

function preferenceTests(storage: () => Storage): void {
  test('a contact unsubscribes from everything and from topics, and subscribes again', async () => {
    const { add, addTopic, read, save, events, get } = await stage(storage())
    const [news, offers] = [await addTopic(), await addTopic({ defaultSubscription: 'opt_out' })]
    const ada = await add()
    const defaults = [
      [offers.id, 'opt_out'],
      [news.id, 'opt_in'],
    ]
    const before = { contactId: ada.id, unsubscribed: false, topics: defaults }
    expect(await read(ada.email.toUpperCase())).toEqual(before)
    expect(await read('old@example.com', ada.id)).toEqual(before)
    const asked = [news, offers].map(({ id }) => ({ id, subscription: 'opt_out' as const }))
    const unknown = { id: newId(T0), subscription: 'opt_out' as const }
    await save(ada.email, { unsubscribed: true, topics: [...asked, unknown] })
    expect(await read(ada.email)).toEqual({
      contactId: ada.id,
      unsubscribed: true,
      topics: [
        [offers.id, 'opt_out'],
        [news.id, 'opt_out'],
      ],
    })
    await save(ada.email, { unsubscribed: false })
    expect(await get(ada.id)).toMatchObject({ optOut: null })
    const told = (await events()).slice(3)
    expect(told.map(({ type }) => type).sort()).toEqual([
      'contact.topics.updated',
      'contact.updated',
      'contact.updated',
    ])
    expect(told.flatMap(({ data }) => data.choices ?? [])).toEqual([
      { email: ada.email, topics: [{ id: news.id, subscription: 'opt_out' }] },
    ])
  })

  test('opt-outs of an address without a contact are stored and lifted, and apply to a new contact', async () => {
    const { teamId, add, addTopic, read, save, told, choicesOf } = await stage(storage())
    const news = await addTopic()
    const address = 'stranger@example.com'
    const nobody = { contactId: null, unsubscribed: false, topics: [[news.id, 'opt_in']] }
    expect(await read(address)).toEqual(nobody)
    const topics = [{ id: news.id, subscription: 'opt_out' as const }]
    await save(address, { unsubscribed: true, topics })
    await save(address, { unsubscribed: true, topics })
    expect(await read(address)).toEqual({ ...nobody, unsubscribed: true, topics: [[news.id, 'opt_out']] })
    await save(address, { unsubscribed: false })
    expect(await read(address)).toEqual({ ...nobody, topics: [[news.id, 'opt_out']] })
    const log = await storage().listConsents({ teamId, contactId: '', email: address }, T0)
    expect(log.map(({ topicId, was, subscription }) => [topicId, was, subscription])).toEqual([
      [null, 'opt_out', 'opt_in'],
      [news.id, null, 'opt_out'],
      [null, null, 'opt_out'],
    ])
    expect(await told()).toEqual(['topic.created'])
    const made = await add({ email: address })
    expect([made.optOut, await choicesOf(made.id)]).toEqual([null, [[news.id, 'opt_out']]])
  })

  test('unsubscribing from an old address opts out both the contact and that address', async () => {
    const { add, update, save, get, read } = await stage(storage())
    const ada = await add()
    await update(ada.id, {}, person, 'now@example.com')
    await save(ada.email, { unsubscribed: true }, ada.id)
    expect(await get(ada.id)).toMatchObject({ optOut: { at: T0 + 5, origin: 'person' } })
    expect(await read(ada.email)).toEqual({ contactId: null, unsubscribed: true, topics: [] })
  })

  test('returns no preferences and stores nothing for a team that does not exist', async () => {
    const nowhere = { teamId: newId(T0), contactId: null, address: 'x@example.com' }
    expect(await storage().getPreferences(nowhere, T0)).toBeUndefined()
    const saving = { ...nowhere, change: { unsubscribed: true, topics: [] }, act: person }
    expect(await storage().savePreferences(saving, T0)).toBeUndefined()
    const log = { teamId: nowhere.teamId, contactId: '', email: nowhere.address }
    expect(await storage().listConsents(log, T0)).toEqual([])
  })
}

function pageTests(storage: () => Storage): void {
  test('a preference page has defaults until it is changed, field by field, for its team only', async () => {
    const [{ team }, other] = [await makeTeam(storage()), await makeTeam(storage())]
    const get = (teamId = team.id) => storage().getUnsubscribePage({ teamId }, T0)
    const change = (asked: UnsubscribePageChange) =>
      storage().updateUnsubscribePage({ teamId: team.id, change: asked }, T0 + 1)
    expect(await get()).toEqual(DEFAULT_PAGE)
    const [en, de] = [
      { title: 'Bye', text: null },
      { title: null, text: 'Schade.' },
    ]
    const page = { ...DEFAULT_PAGE, words: { en }, accent: '#0a7d33', updatedAt: T0 + 1 }
    expect(await change({ words: { en }, accent: '#0a7d33' })).toEqual(page)
    const next = { ...page, words: { en, de }, postalAddress: '1 Main St', defaultLanguage: 'de' }
    expect(await change({ words: { de }, postalAddress: '1 Main St', defaultLanguage: 'de' })).toEqual(next)
    expect(await get()).toEqual(next)
    expect(
      await change({ words: { en: null }, postalAddress: null, logo: 'data:image/png;base64,AA==' }),
    ).toEqual({
      ...next,
      words: { de },
      postalAddress: null,
      logo: 'data:image/png;base64,AA==',
    })
    expect(await get(other.team.id)).toEqual(DEFAULT_PAGE)
  })

  test('a preference page rejects unreadable colors', async () => {
    const { team } = await makeTeam(storage())
    const change = (asked: UnsubscribePageChange) =>
      storage().updateUnsubscribePage({ teamId: team.id, change: asked }, T0 + 1)
    expect(await change({ text: '#eeeeee' })).toBe('text')
    expect(await change({ accent: '#eeeeee', postalAddress: '1 Main St' })).toBe('accent')
    expect(await storage().getUnsubscribePage({ teamId: team.id }, T0)).toEqual(DEFAULT_PAGE)
  })
}
