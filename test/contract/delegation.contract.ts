import { expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { DkimKey, Storage } from '../../appliance/storage/storage.ts'
import { makeTeam, newDomain, T0, unique } from './fixtures.ts'

const SELECTORS = ['posthaste1', 'posthaste2']

export function delegationContract(storage: () => Storage): void {
  const add = async (delegation: 'none' | 'cname' | 'ns', selector = 'posthaste1') => {
    const { team } = await makeTeam(storage())
    const { domain, keys } = newDomain(team.id, unique('delegated') + '.example')
    const given = { domain: { ...domain, delegation }, keys: [{ ...keys[0], selector }] }
    await storage().createDomain(given, T0)
    return { ...given.domain, key: given.keys[0]! }
  }
  const served = async (id: string) =>
    (await storage().servedDomains({ selectors: SELECTORS }, T0)).find(({ domain }) => domain.id === id)

  test('returns domains that delegate records, with their keys but without the private keys', async () => {
    const { key, ...domain } = await add('ns')
    const found = await served(domain.id)
    expect(found).toMatchObject({ domain, holds: false })
    const { selector, algorithm, publicKey, state, retireAt } = key
    expect(found!.keys).toEqual([{ domainId: domain.id, selector, algorithm, publicKey, state, retireAt }])
    await storage().saveDomainCheck({ ...domain, status: 'verified', checks: [] }, T0)
    expect(await served(domain.id)).toMatchObject({ holds: true })
  })

  test('a domain that no longer delegates is returned until its keys are retired', async () => {
    const { key, ...domain } = await add('none')
    expect(await served(domain.id)).toMatchObject({ domain: { delegation: 'none' }, keys: [{}] })
    const other = await add('none', 'posthaste')
    expect(await served(other.id)).toBeUndefined()
    const keys = [{ id: key.id, state: 'retired' as const, retireAt: null }]
    await storage().saveDomainCheck({ ...domain, status: 'verified', checks: [], keys }, T0)
    expect(await served(domain.id)).toBeUndefined()
  })

  test('the zone serial increases only when the content changes', async () => {
    const serial = (digest: string, now: number) => storage().zoneSerial({ digest }, now)
    const names = [unique('one'), unique('two'), unique('three')]
    const first = await serial(names[0]!, T0)
    expect(await serial(names[0]!, T0 + 5000)).toBe(first)
    const second = await serial(names[1]!, T0)
    expect(second).toBeGreaterThan(first)
    const third = await serial(names[2]!, T0 + 10 ** 9)
    expect(third).toBe(Math.max(second + 1, Math.floor((T0 + 10 ** 9) / 1000)))
    // A clock that goes back, as that of another node may, does not lower it.
    expect(await serial(names[0]!, T0)).toBe(third + 1)
  })

  const next = (key: DkimKey, change: Partial<DkimKey>): DkimKey => ({ ...key, id: newId(T0), ...change })

  test('a restart replaces all keys of a domain that was never verified; the RSA key signs at once', async () => {
    const { key, ...domain } = await add('none', 'posthaste')
    const fresh = next(key, { selector: 'posthaste1', state: 'pending' })
    const args = { teamId: domain.teamId, domainId: domain.id, keys: [fresh], restart: true }
    expect(await storage().addDkimKeys(args, T0)).toBe('added')
    expect(await storage().dkimKeys({ domainId: domain.id }, T0)).toEqual([{ ...fresh, state: 'active' }])
  })

  test('a restart keeps the keys of a verified domain, except a pending one', async () => {
    const { key, ...domain } = await add('cname')
    await storage().saveDomainCheck({ ...domain, status: 'verified', checks: [] }, T0)
    const args = { teamId: domain.teamId, domainId: domain.id }
    const waiting = next(key, { selector: 'posthaste2', state: 'pending' })
    await storage().addDkimKeys({ ...args, keys: [waiting] }, T0)
    const fresh = next(key, { selector: 'posthaste-20260101', state: 'pending' })
    expect(await storage().addDkimKeys({ ...args, keys: [fresh] }, T0)).toBe('rotating')
    expect(await storage().addDkimKeys({ ...args, keys: [fresh], restart: true }, T0)).toBe('added')
    const selectors = (await storage().dkimKeys(args, T0)).map(
      ({ selector, state }) => `${selector} ${state}`,
    )
    expect(selectors).toEqual(['posthaste1 active', 'posthaste-20260101 pending'])
  })

  test('a selector can be used again once its key is retired', async () => {
    const { key, ...domain } = await add('cname')
    const args = { teamId: domain.teamId, domainId: domain.id }
    const fresh = next(key, { state: 'pending' })
    await expect(storage().addDkimKeys({ ...args, keys: [fresh] }, T0)).rejects.toThrow()
    const keys = [{ id: key.id, state: 'retired' as const, retireAt: null }]
    await storage().saveDomainCheck({ ...domain, status: 'verified', checks: [], keys }, T0)
    expect(await storage().addDkimKeys({ ...args, keys: [fresh] }, T0)).toBe('added')
    expect(await storage().dkimKeys(args, T0)).toEqual([fresh])
  })
}
