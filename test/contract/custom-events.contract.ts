import { expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { CustomEvent, Storage } from '../../appliance/storage/storage.ts'
import { audienceStage } from './audience-stage.ts'
import { DAY, makeTeam, T0, unique } from './fixtures.ts'

/** Returns an event of a team. Not stored. */
export const newCustomEvent = (teamId: string, more: Partial<CustomEvent> = {}): CustomEvent => ({
  id: newId(T0),
  teamId,
  name: unique('user.created'),
  schema: null,
  createdAt: T0,
  updatedAt: null,
  ...more,
})

/** Tests custom events. */
export function customEventsContract(storage: () => Storage): void {
  test('creates events once by name, and changes, lists and deletes them within their team only', async () => {
    const [{ team }, { team: other }] = [await makeTeam(storage()), await makeTeam(storage())]
    const event = newCustomEvent(team.id, { schema: { plan: 'string' } })
    const create = (one: CustomEvent) => storage().createCustomEvent({ event: one, most: 2 }, T0)
    expect(await create(event)).toBe('created')
    expect(await create({ ...event, id: newId(T0) })).toBe('taken')
    const second = newCustomEvent(team.id)
    expect(await create(second)).toBe('created')
    expect(await create(newCustomEvent(team.id))).toBe('too_many')
    expect(await create({ ...event, id: newId(T0), teamId: other.id })).toBe('created')
    const get = (teamId: string, ref: { id: string } | { name: string }) =>
      storage().getCustomEvent({ teamId, ref }, T0)
    expect(await get(team.id, { name: event.name })).toEqual(event)
    expect(await get(other.id, { id: event.id })).toBeUndefined()
    const change = (teamId: string) =>
      storage().updateCustomEvent({ teamId, id: event.id, schema: { seats: 'number' } }, T0 + 1)
    expect([await change(other.id), await change(team.id)]).toEqual([false, true])
    const changed = { ...event, schema: { seats: 'number' as const }, updatedAt: T0 + 1 }
    expect(await storage().listCustomEvents({ teamId: team.id, limit: 5 }, T0)).toEqual({
      items: [second, changed],
      hasMore: false,
    })
    const remove = (teamId: string) => storage().deleteCustomEvent({ teamId, id: event.id }, T0)
    expect([await remove(other.id), await remove(team.id), await remove(team.id)]).toEqual([
      false,
      true,
      false,
    ])
  })

  test('stores sent events with their contact or address, lists them by name, and purges old ones', async () => {
    const { teamId, add } = await audienceStage(storage())
    const ada = await add()
    const [name, payload] = [unique('order'), { total: 7 }]
    const send = (about: { id: string } | { email: string }, now = T0, most = 3) =>
      storage().sendCustomEvent({ event: { id: newId(now), teamId, name, about, payload }, most }, now)
    expect(await send({ id: newId(T0) })).toBe('no_contact')
    expect(await send({ id: ada.id })).toBe('sent')
    expect(await send({ email: ada.email.toUpperCase() }, T0 + 1)).toBe('sent')
    expect(await send({ email: 'new@example.com' }, T0 + 2)).toBe('sent')
    expect(await send({ id: ada.id }, T0 + 3)).toBe('too_many')
    expect(await send({ id: ada.id }, T0 + DAY)).toBe('sent')
    const list = async () => (await storage().listSentEvents({ teamId, name, limit: 10 }, T0)).items
    const about = { id: expect.any(String) as string, teamId, name, payload }
    const known = { ...about, contactId: ada.id, email: ada.email }
    expect(await list()).toEqual([
      { ...known, createdAt: T0 + DAY },
      { ...about, contactId: null, email: 'new@example.com', createdAt: T0 + 2 },
      { ...known, createdAt: T0 + 1 },
      { ...known, createdAt: T0 },
    ])
    const later = T0 + 10_000 * DAY
    expect(await storage().purgeSentEvents({ before: T0 - DAY, most: 1000 }, T0)).toBe(0)
    expect(await storage().purgeSentEvents({ before: later, most: 2 }, T0)).toBe(2)
    expect(await storage().purgeSentEvents({ before: later, most: 1000 }, T0)).toBeGreaterThan(1)
    expect(await list()).toEqual([])
  })

  test('an erasure removes the events of the contact and address, including those sent under an earlier address', async () => {
    const { teamId, add, update } = await audienceStage(storage())
    const ada = await add()
    const name = unique('order')
    const send = (about: { id: string } | { email: string }) =>
      storage().sendCustomEvent({ event: { id: newId(T0), teamId, name, about, payload: {} }, most: 9 }, T0)
    await send({ id: ada.id })
    const address = `${unique('moved')}@example.com`
    await update(ada.id, {}, undefined, address)
    await send({ email: address })
    await send({ email: 'bob@example.com' })
    const actor = { kind: 'user', name: 'owner@example.com', ip: null } as const
    const { id } = await storage().beginErasure({ id: newId(T0), teamId, address, actor }, T0)
    for (let step = 0; step < 50; step++) await storage().eraseStep({ id }, T0)
    expect((await storage().getErasure({ teamId, id }, T0))?.counts).toMatchObject({ sent_events: 2 })
    const { items } = await storage().listSentEvents({ teamId, name, limit: 9 }, T0)
    expect(items).toMatchObject([{ email: 'bob@example.com' }])
  })
}
