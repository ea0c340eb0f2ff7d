import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { Storage } from '../../appliance/storage/storage.ts'
import { DAY, T0 } from './fixtures.ts'
import { racesOfAccounts } from './races-accounts.contract.ts'
import { racesOfTeams } from './races-teams.contract.ts'
import { raceTest, sorted, type OpenTwice, type Racing } from './racing.ts'

const parts: Record<string, (race: Racing) => void> = {
  accounts: racesOfAccounts,
  teams: racesOfTeams,
}

/**
 * What must stay true when two processes call the storage at once (docs/decisions/0024-races.md). Each part has a database of its own,
 * opened twice; the queue is emptied after each test.
 */
export function racesContract(engine: string, open: OpenTwice): void {
  describe(`races on ${engine}: set-up`, () => {
    test('one first owner', async () => {
      for (let round = 0; round < 4; round++) {
        const two = await open()
        const owners = two.map((storage) => {
          const [id, team] = [newId(T0), { id: newId(T0), name: 'First', createdAt: T0 }]
          const user = { id, email: `${id}@example.com`, passwordHash: 'x', provenAt: T0, createdAt: T0 }
          return storage.createOwner({ team, user, onlyFirst: true }, T0)
        })
        expect(sorted(await Promise.all(owners))).toEqual(['created', 'exists'])
        expect([await two[0].listTeams({}, T0), await two[0].listUsers({}, T0)]).toMatchObject([[{}], [{}]])
        await Promise.all(two.map((storage) => storage.close()))
      }
    })
  })

  describe.each(Object.entries(parts))(`races on ${engine}: %s`, (_name, part) => {
    let openings: readonly [Storage, Storage]
    beforeAll(async () => {
      openings = await open()
    })
    afterEach(() => openings[0].dropQueue({}, T0 + 1000 * DAY))
    afterAll(() => Promise.all(openings.map((storage) => storage.close())))
    part((name, race) => raceTest(name, () => openings, race))
  })
}
