import { beforeAll, expect, test } from 'vitest'
import type { NewAuditEntry } from '../../appliance/mail/audit.ts'
import { getIdTime, newId } from '../../appliance/mail/ids.ts'
import type { AuditFilter, Storage } from '../../appliance/storage/storage.ts'
import { makeTeam, T0 } from './fixtures.ts'

/** Tests of the audit log: recording and searching. */
export function auditContract(open: () => Storage): void {
  let storage: Storage
  let teamId: string

  const write = async (at: number, more: Partial<NewAuditEntry>): Promise<string> => {
    const id = newId(at)
    const entry: NewAuditEntry = {
      id,
      teamId,
      at,
      actor: 'ann@example.com',
      actorKind: 'user',
      actorName: 'Ann',
      ip: null,
      action: 'domain.create',
      target: 'domain d-1',
      targetName: 'Shop.example',
      before: null,
      after: {},
      details: {},
      ...more,
    }
    await storage.appendAudit({ entry }, at)
    return id
  }
  const found = async (filter: AuditFilter): Promise<string[]> => {
    const page = await storage.listAudit({ teamId, limit: 10, ...filter }, T0)
    return page.items.map(({ id }) => id)
  }

  beforeAll(async () => {
    storage = open()
    const { team } = await makeTeam(storage)
    teamId = team.id
  })

  test('each filter matches its field, in any case and without wildcards', async () => {
    const domain = await write(T0, {})
    const key = await write(T0 + 1, { action: 'api_key.create', target: 'api_key k_1', targetName: null })
    const robot = await write(T0 + 2, { actor: 'Sweeper', actorKind: 'system', actorName: null })
    const everywhere = await write(T0 + 3, {
      teamId: null,
      action: 'queue.hold',
      target: 'queue',
      targetName: null,
    })
    expect(await found({})).toEqual([robot, key, domain])
    expect(await found({ appliance: true })).toEqual([everywhere, robot, key, domain])
    expect(await found({ actor: 'ANN@' })).toEqual([key, domain])
    expect(await found({ actor: 'sWeep' })).toEqual([robot])
    expect(await found({ actor: '%' })).toEqual([])
    expect(await found({ action: 'api_key' })).toEqual([key])
    expect(await found({ action: 'domain.create' })).toEqual([robot, domain])
    expect(await found({ target: 'domain d-1' })).toEqual([robot, domain])
    expect(await found({ target: 'api_key' })).toEqual([key])
    expect(await found({ target: 'k_1' })).toEqual([key])
    expect(await found({ target: 'k-1' })).toEqual([])
    expect(await found({ target: 'k%' })).toEqual([])
    expect(await found({ target: 'SHOP.' })).toEqual([robot, domain])
    expect(await found({ since: getIdTime(domain) })).toEqual([robot, key, domain])
    expect(await found({ until: getIdTime(domain) })).toEqual([])
  })

  test('removes old entries, oldest first', async () => {
    const before = getIdTime(await write(T0, {})) + 1
    const all = await found({ appliance: true })
    expect(all).toHaveLength(5)
    expect(await storage.purgeAudit({ before: getIdTime(all.at(-1)!), most: 10 }, T0)).toBe(0)
    expect(await storage.purgeAudit({ before, most: 1 }, T0)).toBe(1)
    expect(await found({ appliance: true })).toEqual(all.slice(0, -1))
    expect(await storage.purgeAudit({ before, most: 10 }, T0)).toBe(4)
    expect(await found({ appliance: true })).toEqual([])
  })
}
