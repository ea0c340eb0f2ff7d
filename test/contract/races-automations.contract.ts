import { expect } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { Storage } from '../../appliance/storage/storage.ts'
import { newCustomEvent } from './custom-events.contract.ts'
import { DAY, makeTeam, T0 } from './fixtures.ts'
import { type Racing, sorted } from './racing.ts'

/** Tests races of custom events and automations. */
export function racesOfAutomations(race: Racing): void {
  race('an event is defined once by name and deleted once', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const event = newCustomEvent(team.id)
    const create = (id: string) => (at: Storage) =>
      at.createCustomEvent({ event: { ...event, id }, most: 9 }, T0)
    expect(sorted(await atOnce(create(newId(T0)), create(newId(T0))))).toEqual(['created', 'taken'])
    const { id } = (await storage.getCustomEvent({ teamId: team.id, ref: { name: event.name } }, T0))!
    const remove = (at: Storage) => at.deleteCustomEvent({ teamId: team.id, id }, T0)
    const change = (at: Storage) => at.updateCustomEvent({ teamId: team.id, id, schema: null }, T0)
    await atOnce(remove, change)
    expect(await storage.listCustomEvents({ teamId: team.id, limit: 9 }, T0)).toMatchObject({ items: [] })
  })

  race('a team defines at most as many events as it may', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const create = (at: Storage) => at.createCustomEvent({ event: newCustomEvent(team.id), most: 1 }, T0)
    expect(sorted(await atOnce(create, create))).toEqual(['created', 'too_many'])
  })

  race('a team sends no more than its events of a day, and a purge removes none of them', async (round) => {
    const { storage, atOnce } = round
    const { team } = await makeTeam(storage)
    const send = (at: Storage) => {
      const event = {
        id: newId(T0),
        teamId: team.id,
        name: 'order',
        about: { email: 'ada@example.com' },
        payload: {},
      }
      return at.sendCustomEvent({ event, most: 2 }, T0)
    }
    await send(storage)
    expect(sorted(await atOnce(send, send))).toEqual(['sent', 'too_many'])
    const purge = (at: Storage) => at.purgeSentEvents({ before: T0 - DAY, most: 9 }, T0)
    await atOnce(purge, purge)
    const { items } = await storage.listSentEvents({ teamId: team.id, name: 'order', limit: 9 }, T0)
    expect(items).toHaveLength(2)
  })
}
