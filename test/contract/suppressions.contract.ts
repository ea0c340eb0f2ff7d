import { expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { Storage, Suppression } from '../../appliance/storage/storage.ts'
import { makeTeam, T0, unique } from './fixtures.ts'

const entry = (
  teamId: string,
  email: string,
  origin: Suppression['origin'] = 'manual',
  now = T0,
): Suppression => ({ id: newId(now), teamId, email, origin, sourceId: null, createdAt: now })

export function suppressionsContract(storage: () => Storage): void {
  test('an address is on the list of its own team, in any case, and once', async () => {
    const { team } = await makeTeam(storage())
    const other = await makeTeam(storage())
    const email = `${unique('Bob')}@example.com`
    const first = { ...entry(team.id, email, 'bounce'), sourceId: newId(T0) }
    const again = entry(team.id, email.toUpperCase())
    const new_ = entry(team.id, `${unique('eve')}@example.com`)
    const add = (suppressions: Suppression[]) =>
      storage().addSuppressions({ teamId: team.id, suppressions }, T0)
    expect(await add([first])).toEqual([first])
    expect(await add([again, new_])).toEqual([first, new_])
    const find = (teamId: string, addresses: string[]) => storage().findSuppressed({ teamId, addresses }, T0)
    const asked = email.toLowerCase()
    expect(await find(team.id, ['nobody@example.com', asked])).toEqual([{ ...first, address: asked }])
    expect(await find(team.id, [])).toEqual([])
    expect(await find(other.team.id, [asked])).toEqual([])
  })

  test('entries are found and removed by id and by address, by their own team only', async () => {
    const { team } = await makeTeam(storage())
    const other = await makeTeam(storage())
    const entries = ['a', 'b', 'c'].map((word) => entry(team.id, `${unique(word)}@example.com`))
    await storage().addSuppressions({ teamId: team.id, suppressions: entries }, T0)
    const [a, b, c] = entries as [Suppression, Suppression, Suppression]
    const get = (teamId: string, ref: { id: string } | { email: string }) =>
      storage().getSuppression({ teamId, ref }, T0)
    expect(await get(team.id, { id: a.id })).toEqual(a)
    expect(await get(team.id, { email: b.email.toUpperCase() })).toEqual(b)
    expect(await get(other.team.id, { id: a.id })).toBeUndefined()
    const remove = (teamId: string) =>
      storage().removeSuppressions(
        { teamId, refs: [{ id: c.id }, { id: newId(T0) }, { email: a.email }] },
        T0,
      )
    expect(await remove(other.team.id)).toEqual([])
    expect(await remove(team.id)).toEqual([c, a])
    expect(await remove(team.id)).toEqual([])
  })

  test('the list runs newest first, page by page, and can be of one origin', async () => {
    const { team } = await makeTeam(storage())
    const entries = (['bounce', 'manual', 'bounce', 'complaint'] as const).map((origin, index) =>
      entry(team.id, `${unique('p')}@example.com`, origin, T0 + index),
    )
    await storage().addSuppressions({ teamId: team.id, suppressions: entries }, T0)
    const newest = entries.toReversed()
    const list = (more: object) => storage().listSuppressions({ teamId: team.id, limit: 2, ...more }, T0)
    expect(await list({})).toEqual({ items: newest.slice(0, 2), hasMore: true })
    expect(await list({ after: newest[1]!.id })).toEqual({ items: newest.slice(2), hasMore: false })
    expect(await list({ before: newest[3]!.id })).toEqual({ items: newest.slice(1, 3), hasMore: true })
    expect(await list({ origin: 'bounce' })).toEqual({ items: [newest[1], newest[3]], hasMore: false })
  })
}
