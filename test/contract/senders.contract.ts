import { expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { DkimKey, DkimKeyChange, Storage } from '../../appliance/storage/storage.ts'
import { makeTeam, newApiKey, newDomain, T0, unique } from './fixtures.ts'

export function sendersContract(storage: () => Storage): void {
  test('finds an API key by the hash of its token', async () => {
    const hash = unique('hash')
    const { team } = await makeTeam(storage())
    const key = newApiKey(team.id, 'app')
    await storage().createApiKey({ ...key, tokenHash: hash + '-h1' }, T0)
    expect(await storage().findApiKey({ tokenHash: hash + '-h1' }, T0)).toEqual(key)
    expect(await storage().getApiKey({ id: key.id }, T0)).toEqual(key)
    expect(await storage().getApiKey({ id: newId(T0) }, T0)).toBeUndefined()
    expect(await storage().findApiKey({ tokenHash: hash + '-h2' }, T0)).toBeUndefined()
  })

  test('rejects a second key with the same token', async () => {
    const hash = unique('hash')
    const { team } = await makeTeam(storage())
    await storage().createApiKey({ ...newApiKey(team.id, 'a'), tokenHash: hash + '-h' }, T0)
    await expect(
      storage().createApiKey({ ...newApiKey(team.id, 'b'), tokenHash: hash + '-h' }, T0),
    ).rejects.toThrow()
    expect(await storage().listApiKeys({ teamId: team.id }, T0)).toHaveLength(1)
  })

  test('lists the API keys of the team only, newest first', async () => {
    const hash = unique('hash')
    const { team } = await makeTeam(storage())
    const other = await makeTeam(storage())
    const keys = [newApiKey(team.id, 'one'), newApiKey(team.id, 'two')]
    for (const key of keys) await storage().createApiKey({ ...key, tokenHash: hash + key.name }, T0)
    await storage().createApiKey({ ...newApiKey(other.team.id, 'x'), tokenHash: unique('x') }, T0)
    expect(await storage().listApiKeys({ teamId: team.id }, T0)).toEqual(keys.toReversed())
  })

  test('only its own team can delete an API key', async () => {
    const hash = unique('hash')
    const { team } = await makeTeam(storage())
    const other = await makeTeam(storage())
    const key = newApiKey(team.id, 'app')
    await storage().createApiKey({ ...key, tokenHash: hash + '-h' }, T0)
    expect(await storage().deleteApiKey({ teamId: other.team.id, id: key.id }, T0)).toBe(false)
    expect(await storage().deleteApiKey({ teamId: team.id, id: key.id }, T0)).toBe(true)
    expect(await storage().deleteApiKey({ teamId: team.id, id: key.id }, T0)).toBe(false)
    expect(await storage().findApiKey({ tokenHash: hash + '-h' }, T0)).toBeUndefined()
  })

  test('stores the time a key was last used, which never decreases', async () => {
    const hash = unique('hash')
    const { team } = await makeTeam(storage())
    const key = newApiKey(team.id, 'app')
    await storage().createApiKey({ ...key, tokenHash: hash + '-h' }, T0)
    await storage().touchApiKeys({ uses: [{ id: key.id, at: T0 + 5, prefix: null }] }, T0 + 9)
    const older = [
      { id: key.id, at: T0 + 1, prefix: null },
      { id: newId(T0), at: T0, prefix: 're_Nobody12' },
    ]
    await storage().touchApiKeys({ uses: older }, T0 + 9)
    expect(await storage().findApiKey({ tokenHash: hash + '-h' }, T0)).toEqual({ ...key, lastUsedAt: T0 + 5 })
  })

  test('a key without a prefix gets one when it is first used, and keeps it', async () => {
    const { team } = await makeTeam(storage())
    const key = newApiKey(team.id, 'old')
    await storage().createApiKey({ ...key, tokenHash: unique('hash') }, T0)
    const prefixes = async () =>
      (await storage().listApiKeys({ teamId: team.id }, T0)).map(({ prefix }) => prefix)
    expect(await prefixes()).toEqual([null])
    for (const prefix of [null, 're_Ab12Cd34', 're_Other123', null])
      await storage().touchApiKeys({ uses: [{ id: key.id, at: T0, prefix }] }, T0)
    expect(await prefixes()).toEqual(['re_Ab12Cd34'])
  })

  test('finds a domain by ID and by name, for its own team only', async () => {
    const name = unique('shop') + '.example'
    const { team } = await makeTeam(storage())
    const other = await makeTeam(storage())
    const { domain, keys } = newDomain(team.id, name)
    expect(await storage().createDomain({ domain, keys }, T0)).toBe('created')
    expect(await storage().getDomain({ teamId: team.id, id: domain.id }, T0)).toEqual(domain)
    expect(await storage().findDomain({ teamId: team.id, name }, T0)).toEqual(domain)
    expect(await storage().getDomain({ teamId: other.team.id, id: domain.id }, T0)).toBeUndefined()
    expect(await storage().findDomain({ teamId: other.team.id, name }, T0)).toBeUndefined()
  })

  test('finding 13: several teams may add a name, and the first to verify it owns it', async () => {
    const name = unique('shop') + '.example'
    const { team } = await makeTeam(storage())
    const other = await makeTeam(storage())
    expect(await storage().createDomain(newDomain(team.id, name), T0)).toBe('created')
    const second = newDomain(other.team.id, name)
    const again = newDomain(other.team.id, name)
    expect(await storage().createDomain(second, T0)).toBe('created')
    expect(await storage().createDomain(again, T0)).toBe('taken')
    expect(await storage().dkimKeys({ domainId: again.domain.id }, T0)).toEqual([])

    const [first] = await storage().listDomains({ teamId: team.id }, T0)
    const verify = ({ teamId, id }: { teamId: string; id: string }) =>
      storage().saveDomainCheck({ teamId, id, status: 'verified', checks: [] }, T0)
    const held = async () => [
      await storage().isDomainHeld({ id: first!.id }, T0),
      await storage().isDomainHeld({ id: second.domain.id }, T0),
    ]
    expect(await held()).toEqual([false, false])
    expect(await verify(second.domain)).toBe(true)
    expect(await held()).toEqual([true, false])
    expect(await verify(first!)).toBe(false)
    expect(await storage().findDomain({ teamId: team.id, name }, T0)).toMatchObject({ status: 'not_started' })
    expect(await storage().deleteDomain({ teamId: other.team.id, id: second.domain.id }, T0)).toBe(true)
    expect(await verify(first!)).toBe(true)
  })

  test('lists domains newest first', async () => {
    const { team } = await makeTeam(storage())
    const names = ['a', 'b', 'c'].map((label) => unique(label) + '.example')
    for (const name of names) await storage().createDomain(newDomain(team.id, name), T0)
    const listed = await storage().listDomains({ teamId: team.id }, T0)
    expect(listed.map((domain) => domain.name)).toEqual(names.toReversed())
  })

  test('returns the private key byte for byte', async () => {
    const name = unique('shop') + '.example'
    const { team } = await makeTeam(storage())
    const { domain, keys } = newDomain(team.id, name)
    await storage().createDomain({ domain, keys }, T0)
    const [found] = await storage().dkimKeys({ domainId: domain.id }, T0)
    expect({ ...found, privateKey: [...found!.privateKey] }).toEqual({
      ...keys[0],
      privateKey: [0, 1, 254, 255],
    })
  })

  test('stores the results of a check with its time', async () => {
    const name = unique('shop') + '.example'
    const { team } = await makeTeam(storage())
    const { domain, keys } = newDomain(team.id, name)
    await storage().createDomain({ domain, keys }, T0)
    const checks = [
      { key: 'DKIM', status: 'verified' as const, found: [], note: null, checkedAt: T0, since: T0 },
    ]
    await storage().saveDomainCheck({ teamId: team.id, id: domain.id, status: 'verified', checks }, T0 + 7)
    expect(await storage().getDomain({ teamId: team.id, id: domain.id }, T0)).toEqual({
      ...domain,
      status: 'verified',
      statusSince: T0 + 7,
      checks,
      checkedAt: T0 + 7,
    })
  })

  test('deleting a domain deletes its DKIM keys and the API keys restricted to it, and no others', async () => {
    const name = unique('shop') + '.example'
    const hash = unique('hash')
    const { team } = await makeTeam(storage())
    const { domain, keys } = newDomain(team.id, name)
    await storage().createDomain({ domain, keys }, T0)
    const free = newApiKey(team.id, 'free')
    await storage().createApiKey({ ...free, tokenHash: hash + '-free' }, T0)
    await storage().createApiKey(
      { ...newApiKey(team.id, 'bound', domain.id), tokenHash: hash + '-bound' },
      T0,
    )
    expect(await storage().deleteDomain({ teamId: newId(T0), id: domain.id }, T0)).toBe(false)
    expect(await storage().deleteDomain({ teamId: team.id, id: domain.id }, T0)).toBe(true)
    expect(await storage().dkimKeys({ domainId: domain.id }, T0)).toEqual([])
    expect(await storage().listApiKeys({ teamId: team.id }, T0)).toEqual([free])
    expect(await storage().createDomain(newDomain(team.id, name), T0)).toBe('created')
  })

  test('only its own team can rename an API key', async () => {
    const { team } = await makeTeam(storage())
    const key = newApiKey(team.id, 'before')
    await storage().createApiKey({ ...key, tokenHash: unique('hash') }, T0)
    const rename = (teamId: string) => storage().renameApiKey({ teamId, id: key.id, name: 'after' }, T0)
    expect(await rename(newId(T0))).toBe(false)
    expect(await rename(team.id)).toBe(true)
    expect(await storage().listApiKeys({ teamId: team.id }, T0)).toEqual([{ ...key, name: 'after' }])
  })

  test('updates only the given settings, for the domain’s own team only', async () => {
    const { team } = await makeTeam(storage())
    const { domain, keys } = newDomain(team.id, unique('set') + '.example')
    await storage().createDomain({ domain, keys }, T0)
    const { id } = domain
    const settings = { tls: 'enforced', openTracking: true, trackingSubdomain: 'links' } as const
    expect(await storage().updateDomain({ teamId: newId(T0), id, settings }, T0)).toBe(false)
    expect(await storage().updateDomain({ teamId: newId(T0), id, settings: {} }, T0)).toBe(false)
    expect(await storage().updateDomain({ teamId: team.id, id, settings: {} }, T0)).toBe(true)
    expect(await storage().updateDomain({ teamId: team.id, id, settings }, T0)).toBe(true)
    expect(await storage().getDomain({ teamId: team.id, id }, T0)).toEqual({ ...domain, ...settings })
  })

  test('finds domains that are due for a check, oldest first, and rejects outdated results', async () => {
    const { team } = await makeTeam(storage())
    const teamId = team.id
    const made = ['later', 'soon', 'never'].map((word) => newDomain(teamId, unique(word) + '.example'))
    for (const one of made) await storage().createDomain(one, T0)
    const [later, soon] = made.map(({ domain }) => domain.id) as [string, string]
    const watch = (nextCheckAt: number) => ({
      verifyUntil: T0 + 9,
      suspect: { status: 'failed' as const, since: T0 + 1 },
      nextCheckAt,
    })
    const schedule = (id: string, time: number) =>
      storage().scheduleDomainCheck(
        { teamId, id, status: 'pending', seen: 'not_started', watch: watch(time) },
        T0 + 2,
      )
    await schedule(later, T0 + 20)
    await schedule(soon, T0 + 10)
    expect(await storage().nextDomainCheck({}, T0)).toBe(T0 + 10)
    expect(await storage().dueDomains({ limit: 5 }, T0 + 9)).toEqual([])
    const due = await storage().dueDomains({ limit: 5 }, T0 + 20)
    expect(due.map(({ id }) => id)).toEqual([soon, later])
    expect(due[0]).toMatchObject({ status: 'pending', statusSince: T0 + 2, ...watch(T0 + 10) })
    const save = (nextCheckAt: number | null) =>
      storage().saveDomainCheck(
        {
          teamId,
          id: soon,
          status: 'verified',
          checks: [],
          watch: { verifyUntil: null, suspect: null, nextCheckAt: null },
          seen: { status: 'pending', nextCheckAt },
        },
        T0 + 30,
      )
    expect([await save(T0 + 11), await save(null), await save(T0 + 10)]).toEqual([false, false, true])
    expect(await storage().dueDomains({ limit: 5 }, T0 + 99)).toHaveLength(1)
    await storage().scheduleDomainCheck(
      {
        teamId,
        id: later,
        status: 'failed',
        seen: 'pending',
        watch: { verifyUntil: null, suspect: null, nextCheckAt: null },
      },
      T0,
    )
    expect(await storage().nextDomainCheck({}, T0)).toBeUndefined()
  })

  test('DKIM keys change state together with the check that found their records', async () => {
    const { team } = await makeTeam(storage())
    const teamId = team.id
    const { domain, keys } = newDomain(teamId, unique('keys') + '.example')
    await storage().createDomain({ domain, keys }, T0)
    const domainId = domain.id
    const [old] = keys
    const make = (selector: string, algorithm: DkimKey['algorithm']): DkimKey => ({
      ...old,
      id: newId(T0),
      selector,
      algorithm,
      state: 'pending',
    })
    const lost = make('unpublished', 'ed25519-sha256')
    expect(await storage().addDkimKeys({ teamId, domainId, keys: [lost] }, T0)).toBe('added')
    const next = [make('next', 'rsa-sha256'), make('short', 'ed25519-sha256')]
    expect(await storage().addDkimKeys({ teamId: newId(T0), domainId, keys: next }, T0)).toBe('gone')
    expect(await storage().addDkimKeys({ teamId, domainId, keys: next }, T0)).toBe('added')
    expect(await storage().addDkimKeys({ teamId, domainId, keys: [make('x', 'rsa-sha256')] }, T0)).toBe(
      'rotating',
    )
    const selectors = async () =>
      (await storage().signingKeys({ domainId }, T0)).map(({ selector }) => selector)
    expect(await selectors()).toEqual(['posthaste'])
    const change = (changes: DkimKeyChange[]) =>
      storage().saveDomainCheck(
        { teamId, id: domainId, status: 'verified', checks: [], keys: changes },
        T0 + 5,
      )
    await change([
      { id: old.id, state: 'retiring', retireAt: T0 + 9 },
      { id: next[1]!.id, state: 'active', retireAt: null },
    ])
    expect(await selectors()).toEqual([]) // An Ed25519 key never signs alone.
    await change([
      { id: next[0]!.id, state: 'active', retireAt: null },
      { id: old.id, state: 'retired', retireAt: null },
    ])
    expect(await selectors()).toEqual(['next', 'short'])
    const all = await storage().dkimKeys({ domainId }, T0)
    expect(
      all.map(({ selector, state, stateSince, privateKey }) => [
        selector,
        state,
        stateSince,
        privateKey.length,
      ]),
    ).toEqual([
      ['posthaste', 'retired', T0 + 5, 0],
      ['next', 'active', T0 + 5, 4],
      ['short', 'active', T0 + 5, 4],
    ])
  })
}
