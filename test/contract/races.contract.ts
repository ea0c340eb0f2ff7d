import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { Storage } from '../../appliance/storage/storage.ts'
import { DAY, T0 } from './fixtures.ts'
import { racesOfAccounts } from './races-accounts.contract.ts'
import { racesOfAlerts } from './races-alerts.contract.ts'
import { racesOfAudience } from './races-audience.contract.ts'
import { racesOfAutomations } from './races-automations.contract.ts'
import { racesOfBroadcasts } from './races-broadcasts.contract.ts'
import { racesOfArchives } from './races-archives.contract.ts'
import { racesOfForms } from './races-forms.contract.ts'
import { racesOfHousekeeping } from './races-housekeeping.contract.ts'
import { racesOfImports } from './races-imports.contract.ts'
import { racesOfMail } from './races-mail.contract.ts'
import { racesOfSenders } from './races-senders.contract.ts'
import { racesOfTeams } from './races-teams.contract.ts'
import { racesOfTemplates } from './races-templates.contract.ts'
import { racesOfWebhooks } from './races-webhooks.contract.ts'
import { raceTest, sorted, type OpenTwice, type Racing } from './racing.ts'

const parts: Record<string, (race: Racing) => void> = {
  accounts: racesOfAccounts,
  alerts: racesOfAlerts,
  audience: racesOfAudience,
  archives: racesOfArchives,
  forms: racesOfForms,
  imports: racesOfImports,
  automations: racesOfAutomations,
  broadcasts: racesOfBroadcasts,
  mail: racesOfMail,
  housekeeping: racesOfHousekeeping,
  senders: racesOfSenders,
  teams: racesOfTeams,
  templates: racesOfTemplates,
  webhooks: racesOfWebhooks,
}

/** @param reversed whether the second connection starts */
async function oneOwner(openings: readonly [Storage, Storage], reversed: boolean): Promise<void> {
  const [storage] = openings
  const create = (at: Storage) => {
    const [id, team] = [newId(T0), { id: newId(T0), name: 'First', createdAt: T0 }]
    const user = { id, email: `${id}@example.com`, passwordHash: 'x', provenAt: T0, createdAt: T0 }
    return at.createOwner({ team, user, onlyFirst: true }, T0)
  }
  const order = reversed ? openings.toReversed() : openings
  expect(sorted(await Promise.all(order.map(create)))).toEqual(['created', 'exists'])
  expect([await storage.listTeams({}, T0), await storage.listUsers({}, T0)]).toMatchObject([[{}], [{}]])
}

/**
 * Tests what must hold when two processes call the storage at once (docs/decisions/0024-races.md). Each part has its
 * own database, opened twice. The queue is emptied after each test.
 */
export function racesContract(engine: string, open: OpenTwice): void {
  describe.each(Object.entries(parts))(`races on ${engine}: %s`, (name, part) => {
    let openings: readonly [Storage, Storage]
    beforeAll(async () => {
      openings = await open()
    })
    afterEach(() => openings[0].dropQueue({}, T0 + 1000 * DAY))
    afterAll(() => Promise.all(openings.map((storage) => storage.close())))
    test('concurrent setups of an empty database create only one owner', () =>
      oneOwner(openings, name.length % 2 === 0))
    part((title, race) => raceTest(title, () => openings, race))
  })
}
