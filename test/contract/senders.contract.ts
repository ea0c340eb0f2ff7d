import { expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { ApiKey, Storage } from '../../appliance/storage/storage.ts'
import { makeTeam, newDomain, T0, unique } from './fixtures.ts'

const apiKey = (teamId: string, name: string, domainId: string | null = null): ApiKey => ({
  id: newId(T0),
  teamId,
  name,
  permission: domainId === null ? 'full_access' : 'sending_access',
  domainId,
  createdAt: T0,
  lastUsedAt: null,
})

export function sendersContract(storage: () => Storage): void {
  test('an api key is found by the hash of its token', async () => {
    const hash = unique('hash')
    const { team } = await makeTeam(storage())
    const key = apiKey(team.id, 'app')
    await storage().createApiKey({ ...key, tokenHash: hash + '-h1' }, T0)
    expect(await storage().findApiKey({ tokenHash: hash + '-h1' }, T0)).toEqual(key)
    expect(await storage().findApiKey({ tokenHash: hash + '-h2' }, T0)).toBeUndefined()
  })

  test('two keys cannot have one token', async () => {
    const hash = unique('hash')
    const { team } = await makeTeam(storage())
    await storage().createApiKey({ ...apiKey(team.id, 'a'), tokenHash: hash + '-h' }, T0)
    await expect(
      storage().createApiKey({ ...apiKey(team.id, 'b'), tokenHash: hash + '-h' }, T0),
    ).rejects.toThrow()
    expect(await storage().listApiKeys({ teamId: team.id }, T0)).toHaveLength(1)
  })

  test('keys are listed newest first, those of the team only', async () => {
    const hash = unique('hash')
    const { team } = await makeTeam(storage())
    const other = await makeTeam(storage())
    const keys = [apiKey(team.id, 'one'), apiKey(team.id, 'two')]
    for (const key of keys) await storage().createApiKey({ ...key, tokenHash: hash + key.name }, T0)
    await storage().createApiKey({ ...apiKey(other.team.id, 'x'), tokenHash: unique('x') }, T0)
    expect(await storage().listApiKeys({ teamId: team.id }, T0)).toEqual(keys.toReversed())
  })

  test('a key is deleted by its own team only', async () => {
    const hash = unique('hash')
    const { team } = await makeTeam(storage())
    const other = await makeTeam(storage())
    const key = apiKey(team.id, 'app')
    await storage().createApiKey({ ...key, tokenHash: hash + '-h' }, T0)
    expect(await storage().deleteApiKey({ teamId: other.team.id, id: key.id }, T0)).toBe(false)
    expect(await storage().deleteApiKey({ teamId: team.id, id: key.id }, T0)).toBe(true)
    expect(await storage().deleteApiKey({ teamId: team.id, id: key.id }, T0)).toBe(false)
    expect(await storage().findApiKey({ tokenHash: hash + '-h' }, T0)).toBeUndefined()
  })

  test('the last use of a key is noted and never goes back', async () => {
    const hash = unique('hash')
    const { team } = await makeTeam(storage())
    const key = apiKey(team.id, 'app')
    await storage().createApiKey({ ...key, tokenHash: hash + '-h' }, T0)
    await storage().touchApiKeys({ uses: [{ id: key.id, at: T0 + 5 }] }, T0 + 9)
    const older = [
      { id: key.id, at: T0 + 1 },
      { id: newId(T0), at: T0 },
    ]
    await storage().touchApiKeys({ uses: older }, T0 + 9)
    expect(await storage().findApiKey({ tokenHash: hash + '-h' }, T0)).toEqual({ ...key, lastUsedAt: T0 + 5 })
  })

  test('a domain is found by id and by name, by its own team only', async () => {
    const name = unique('shop') + '.example'
    const { team } = await makeTeam(storage())
    const other = await makeTeam(storage())
    const { domain, key } = newDomain(team.id, name)
    expect(await storage().createDomain({ domain, key }, T0)).toBe('created')
    expect(await storage().getDomain({ teamId: team.id, id: domain.id }, T0)).toEqual(domain)
    expect(await storage().findDomain({ teamId: team.id, name }, T0)).toEqual(domain)
    expect(await storage().getDomain({ teamId: other.team.id, id: domain.id }, T0)).toBeUndefined()
    expect(await storage().findDomain({ teamId: other.team.id, name }, T0)).toBeUndefined()
  })

  test('a name belongs to one team of the appliance', async () => {
    const name = unique('shop') + '.example'
    const { team } = await makeTeam(storage())
    const other = await makeTeam(storage())
    expect(await storage().createDomain(newDomain(team.id, name), T0)).toBe('created')
    const second = newDomain(other.team.id, name)
    expect(await storage().createDomain(second, T0)).toBe('taken')
    expect(await storage().listDomains({ teamId: other.team.id }, T0)).toEqual([])
    expect(await storage().dkimKeys({ domainId: second.domain.id }, T0)).toEqual([])
  })

  test('domains are listed newest first', async () => {
    const { team } = await makeTeam(storage())
    const names = ['a', 'b', 'c'].map((label) => unique(label) + '.example')
    for (const name of names) await storage().createDomain(newDomain(team.id, name), T0)
    const listed = await storage().listDomains({ teamId: team.id }, T0)
    expect(listed.map((domain) => domain.name)).toEqual(names.toReversed())
  })

  test('the private key comes back byte for byte', async () => {
    const name = unique('shop') + '.example'
    const { team } = await makeTeam(storage())
    const { domain, key } = newDomain(team.id, name)
    await storage().createDomain({ domain, key }, T0)
    const [found] = await storage().dkimKeys({ domainId: domain.id }, T0)
    expect({ ...found, privateKey: [...found!.privateKey] }).toEqual({ ...key, privateKey: [0, 1, 254, 255] })
  })

  test('a check is saved with its time', async () => {
    const name = unique('shop') + '.example'
    const { team } = await makeTeam(storage())
    const { domain, key } = newDomain(team.id, name)
    await storage().createDomain({ domain, key }, T0)
    const checks = [{ key: 'DKIM', status: 'verified' as const, found: [], note: null }]
    await storage().saveDomainCheck({ teamId: team.id, id: domain.id, status: 'verified', checks }, T0 + 7)
    expect(await storage().getDomain({ teamId: team.id, id: domain.id }, T0)).toEqual({
      ...domain,
      status: 'verified',
      checks,
      checkedAt: T0 + 7,
    })
  })

  test('a deleted domain takes its DKIM keys and the api keys restricted to it along, and no other', async () => {
    const name = unique('shop') + '.example'
    const hash = unique('hash')
    const { team } = await makeTeam(storage())
    const { domain, key } = newDomain(team.id, name)
    await storage().createDomain({ domain, key }, T0)
    const free = apiKey(team.id, 'free')
    await storage().createApiKey({ ...free, tokenHash: hash + '-free' }, T0)
    await storage().createApiKey({ ...apiKey(team.id, 'bound', domain.id), tokenHash: hash + '-bound' }, T0)
    expect(await storage().deleteDomain({ teamId: newId(T0), id: domain.id }, T0)).toBe(false)
    expect(await storage().deleteDomain({ teamId: team.id, id: domain.id }, T0)).toBe(true)
    expect(await storage().dkimKeys({ domainId: domain.id }, T0)).toEqual([])
    expect(await storage().listApiKeys({ teamId: team.id }, T0)).toEqual([free])
    expect(await storage().createDomain(newDomain(team.id, name), T0)).toBe('created')
  })
}
