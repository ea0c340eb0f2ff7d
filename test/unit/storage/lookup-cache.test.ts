import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cacheLookups } from '../../../appliance/storage/lookup-cache.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import type { Storage } from '../../../appliance/storage/storage.ts'
import { makeTeam, newDomain, T0, unique } from '../../contract/fixtures.ts'
import { makePlace } from './places.ts'

/** `other` stands for another process on the same data. */
let [storage, other]: Storage[] = []
beforeAll(async () => {
  const dataDir = await makePlace()
  storage = cacheLookups(await openSqlite({ dataDir }))
  other = await openSqlite({ dataDir })
})
afterAll(async () => {
  await storage!.close()
  await other!.close()
})

async function makeKey(): Promise<{ teamId: string; id: string; tokenHash: string }> {
  const { team } = await makeTeam(storage!)
  const key = { id: unique('key'), teamId: team.id, tokenHash: unique('hash') }
  await storage!.createApiKey(
    {
      ...key,
      name: 'a',
      permission: 'full_access',
      domainId: null,
      prefix: null,
      createdAt: T0,
      lastUsedAt: null,
    },
    T0,
  )
  return key
}
const find = (tokenHash: string, now: number) => storage!.findApiKey({ tokenHash }, now)

describe('a cached API key', () => {
  test('an API key revoked by another process is accepted for less than a second', async () => {
    const { teamId, id, tokenHash } = await makeKey()
    expect(await find(tokenHash, T0)).toMatchObject({ id })
    await other!.deleteApiKey({ teamId, id }, T0)
    expect(await find(tokenHash, T0 + 999)).toMatchObject({ id })
    expect(await find(tokenHash, T0 + 1000)).toBeUndefined()
  })

  test('an API key revoked by this process is rejected at once', async () => {
    const { teamId, id, tokenHash } = await makeKey()
    expect(await find(tokenHash, T0)).toMatchObject({ id })
    await storage!.deleteApiKey({ teamId, id }, T0)
    expect(await find(tokenHash, T0)).toBeUndefined()
  })

  test('the API key of a trusted listener expires from the cache like other keys', async () => {
    const { teamId, id } = await makeKey()
    const get = (now: number) => storage!.getApiKey({ id }, now)
    expect(await get(T0)).toMatchObject({ id })
    await other!.deleteApiKey({ teamId, id }, T0)
    expect(await get(T0 + 999)).toMatchObject({ id })
    expect(await get(T0 + 1000)).toBeUndefined()
    const here = await makeKey()
    expect(await storage!.getApiKey({ id: here.id }, T0)).toMatchObject({ id: here.id })
    await storage!.deleteApiKey(here, T0)
    expect(await storage!.getApiKey({ id: here.id }, T0)).toBeUndefined()
  })

  test('a missing API key is not cached: a key created later is found', async () => {
    const tokenHash = unique('hash')
    expect(await find(tokenHash, T0)).toBeUndefined()
    const { team } = await makeTeam(other!)
    await other!.createApiKey(
      {
        id: unique('key'),
        teamId: team.id,
        tokenHash,
        name: 'a',
        permission: 'full_access',
        domainId: null,
        prefix: null,
        createdAt: T0,
        lastUsedAt: null,
      },
      T0,
    )
    expect(await find(tokenHash, T0)).toBeDefined()
  })

  test('an API key revoked during its lookup is not cached', async () => {
    const { teamId, id, tokenHash } = await makeKey()
    const looking = find(tokenHash, T0)
    await storage!.deleteApiKey({ teamId, id }, T0)
    await looking
    expect(await find(tokenHash, T0)).toBeUndefined()
  })

  test('a revoked API key is not accepted longer when the clock is set back', async () => {
    const { teamId, id, tokenHash } = await makeKey()
    await find(tokenHash, T0 + 5000)
    await other!.deleteApiKey({ teamId, id }, T0)
    expect(await find(tokenHash, T0)).toBeUndefined()
  })
})

test('changes to domains and plans by this process take effect at once', async () => {
  const { team } = await makeTeam(storage!)
  const made = newDomain(team.id, `${unique('acme')}.example`)
  await storage!.createDomain(made, T0)
  const args = { teamId: team.id, name: made.domain.name }
  expect(await storage!.findDomain(args, T0)).toMatchObject({ status: 'not_started' })
  await storage!.deleteDomain({ teamId: team.id, id: made.domain.id }, T0)
  expect(await storage!.findDomain(args, T0)).toBeUndefined()
  expect(await storage!.planOf({ teamId: team.id }, T0)).toBe('unlimited')
  await storage!.setPlan({ teamId: team.id, plan: 'free' }, T0)
  expect(await storage!.planOf({ teamId: team.id }, T0)).toBe('free')
})
