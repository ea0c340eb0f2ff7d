import { expect, test } from 'vitest'
import { DEFAULT_ARCHIVE } from '../../appliance/mail/archive.ts'
import { newId } from '../../appliance/mail/ids.ts'
import type { Storage } from '../../appliance/storage/storage.ts'
import { broadcastStage } from './broadcast-stage.ts'
import { makeTeam, MINUTE, T0, unique } from './fixtures.ts'

/** Tests public archives, and which broadcasts are in them. */
export function archivesContract(storage: () => Storage): void {
  test('an archive changes in parts, and has a slug of its own', async () => {
    const [one, other] = [(await makeTeam(storage())).team.id, (await makeTeam(storage())).team.id]
    const none = { ...DEFAULT_ARCHIVE, teamId: one, updatedAt: null }
    expect(await storage().getArchive({ teamId: one }, T0)).toEqual(none)
    const slug = unique('news').toLowerCase()
    expect(await storage().findArchive({ slug }, T0)).toBeUndefined()
    const update = (teamId: string, change: object, now = T0) =>
      storage().updateArchive({ teamId, change }, now)
    const first = { ...none, slug, title: 'News', updatedAt: T0 }
    expect(await update(one, { slug, title: 'News' })).toEqual(first)
    const second = { ...first, status: 'enabled', indexed: false, updatedAt: T0 + 1 }
    expect(await update(one, { status: 'enabled', indexed: false }, T0 + 1)).toEqual(second)
    expect(await storage().getArchive({ teamId: one }, T0)).toEqual(second)
    expect(await storage().findArchive({ slug }, T0)).toEqual(second)
    expect(await update(other, { slug, title: 'Theirs' })).toBe('taken')
    expect(await storage().getArchive({ teamId: other }, T0)).toMatchObject({ slug: null, title: null })
    // Several teams have none.
    expect(await update(other, { title: 'Theirs' })).toMatchObject({ slug: null })
    expect(await update((await makeTeam(storage())).team.id, { title: 'Third' })).toMatchObject({
      slug: null,
    })
    expect(await update(one, { slug: `${slug}-2` })).toMatchObject({ slug: `${slug}-2` })
    expect(await update(other, { slug })).toMatchObject({ slug, teamId: other })
  })

  test('publishing is no edit, and is possible in every status', async () => {
    const { teamId, draft, start, get } = await broadcastStage(storage())
    const id = await draft({ archivedAt: T0 })
    expect(await get(id)).toMatchObject({ archivedAt: T0 })
    const publish = (archive: boolean, now: number) =>
      storage().updateBroadcast({ teamId, id, change: { archive } }, now)
    expect(await publish(true, T0 + 5)).toBe('done')
    expect(await get(id)).toMatchObject({ archivedAt: T0, edits: 0 })
    expect(await publish(false, T0 + 6)).toBe('done')
    expect(await get(id)).toMatchObject({ archivedAt: null, edits: 0 })
    await start(id)
    expect(await publish(true, T0 + 7)).toBe('done')
    await storage().endBroadcast({ id, was: 'queued', status: 'sent', problem: null }, T0)
    expect(await get(id)).toMatchObject({ archivedAt: T0 + 7, status: 'sent' })
    expect(await publish(false, T0 + 8)).toBe('done')
    expect(await publish(true, T0 + 9)).toBe('done')
    expect(await get(id)).toMatchObject({ archivedAt: T0 + 9 })
    expect(await get(await draft())).toMatchObject({ archivedAt: null })
  })

  test('lists sent broadcasts that are published, the last sent first, in pages', async () => {
    const { teamId, draft, start } = await broadcastStage(storage())
    const other = await broadcastStage(storage())
    const sent = async (at: number, stage: Pick<typeof other, 'draft' | 'start'> = { draft, start }) => {
      const id = await stage.draft({ archivedAt: T0 })
      expect(await stage.start(id, at)).toBe('done')
      await storage().endBroadcast({ id, was: 'queued', status: 'sent', problem: null }, at)
      return id
    }
    const [oldest, newest] = [await sent(T0 + MINUTE), await sent(T0 + 9 * MINUTE)]
    // Two at the same time are ordered by id.
    const same = [await sent(T0 + 5 * MINUTE), await sent(T0 + 5 * MINUTE)].toSorted().toReversed()
    await sent(T0 + MINUTE, other)
    const [running, canceled, waiting] = [await draft({ archivedAt: T0 }), await draft(), await draft()]
    await start(running)
    for (const id of [canceled, waiting])
      await storage().updateBroadcast({ teamId, id, change: { archive: true } }, T0)
    await start(canceled)
    await storage().cancelBroadcast({ teamId, id: canceled }, T0)
    const page = (most: number, after?: { startedAt: number; id: string }) =>
      storage().listArchived({ teamId, most, after }, T0)
    const all = await page(9)
    expect(all.map(({ id }) => id)).toEqual([newest, ...same, oldest])
    expect(all[0]).toEqual({
      id: newest,
      teamId,
      revisionId: expect.any(String) as string,
      status: 'sent',
      startedAt: T0 + 9 * MINUTE,
    })
    const ids: string[] = []
    for (let after = undefined as (typeof all)[0] | undefined; ;) {
      const [one] = await page(1, after)
      if (!one) break
      ids.push(one.id)
      after = one
    }
    expect(ids).toEqual(all.map(({ id }) => id))
    const find = async (id: string) => (await storage().findArchived({ id }, T0))?.status
    expect(await find(newest)).toBe('sent')
    expect(await find(running)).toBe('queued')
    for (const id of [canceled, waiting, newId(T0)]) expect(await find(id)).toBeUndefined()
    await storage().updateBroadcast({ teamId, id: newest, change: { archive: false } }, T0)
    expect(await find(newest)).toBeUndefined()
    expect((await page(9)).map(({ id }) => id)).toEqual([...same, oldest])
  })
}
