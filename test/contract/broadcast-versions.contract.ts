import { describe, expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { Storage, VersionRecord } from '../../appliance/storage/storage.ts'
import { broadcastStage, content } from './broadcast-stage.ts'
import { MINUTE, T0 } from './fixtures.ts'

export function broadcastVersionsContract(storage: () => Storage): void {
  describe('versions of broadcasts', () => versionTests(storage))
}

/** Returns a draft with its first version, and helpers that change it and list what it said. */
async function versioned(storage: Storage) {
  const { teamId, segment, get, start } = await broadcastStage(storage)
  const id = newId(T0)
  const by = (author: string, now: number, more: Partial<VersionRecord> = {}): VersionRecord => ({
    id: newId(now),
    author,
    together: 5 * MINUTE,
    keep: 3,
    ...more,
  })
  const about = { id, teamId, name: 'News', segmentId: segment.id, exclude: [], topicId: null }
  const broadcast = { ...about, content, document: null, createdAt: T0 }
  await storage.createBroadcast({ broadcast, version: by('ada', T0) }, T0)
  const change = (changed: object, now: number, version = by('ada', now), more: object = {}) =>
    storage.updateBroadcast({ teamId, id, change: changed, version, ...more }, now)
  const write = (subject: string, now: number, version = by('ada', now)) =>
    change({ content: { subject } }, now, version)
  const listed = async (limit = 50) =>
    (await storage.listBroadcastVersions({ teamId, broadcastId: id, limit }, T0)).items
  const subjects = async () => (await listed()).map((one) => one.subject)
  return { teamId, id, by, change, write, listed, subjects, get, start }
}

function versionTests(storage: () => Storage): void {
  test('changes by one author within a few minutes form one version; later changes or other authors start a new one', async () => {
    const { teamId, id, by, write, listed, subjects } = await versioned(storage())
    await write('One', T0 + MINUTE)
    await write('Two', T0 + 2 * MINUTE)
    expect(await subjects()).toEqual(['Two'])
    await write('Three', T0 + 3 * MINUTE, by('bob', T0 + 3 * MINUTE))
    await write('Four', T0 + 9 * MINUTE, by('bob', T0 + 9 * MINUTE))
    expect(await listed()).toMatchObject([
      { broadcastId: id, subject: 'Four', author: 'bob', createdAt: T0 + 9 * MINUTE },
      { subject: 'Three', author: 'bob', createdAt: T0 + 3 * MINUTE },
      { subject: 'Two', author: 'ada', createdAt: T0, updatedAt: T0 + 2 * MINUTE },
    ])
    const [first, rest] = [await listed(1), await listed()]
    const after = { teamId, broadcastId: id, limit: 1, after: first[0]!.id }
    expect(await storage().listBroadcastVersions(after, T0)).toEqual({ items: [rest[1]], hasMore: true })
    await write('Five', T0 + 9 * MINUTE, by('bob', T0 + 9 * MINUTE + 1, { together: 0 }))
    expect(await subjects()).toEqual(['Five', 'Four', 'Three'])
  })

  test('versions contain the whole content, and the newest matches the draft', async () => {
    const { teamId, id, by, change, listed, get } = await versioned(storage())
    await change({ content: { html: '<p>New</p>' }, document: '{"a":1}' }, T0 + 1)
    const read = async (version: string) =>
      storage().getBroadcastVersion({ teamId, broadcastId: id, id: version }, T0)
    const [newest, oldest] = await listed()
    const { content: said, document } = (await get(id))!
    expect(await read(newest!.id)).toEqual({ ...newest, content: said, document })
    // Blocks that become code are another version, however soon.
    expect(await read(oldest!.id)).toMatchObject({ content, document: null, author: 'ada' })
    await change({ document: null }, T0 + 2, by('ada', T0 + 2))
    expect(await listed()).toHaveLength(3)
    const foreign = { teamId: newId(T0), broadcastId: id, id: newest!.id }
    expect(await storage().getBroadcastVersion(foreign, T0)).toBeUndefined()
    expect(await storage().getBroadcastVersion({ ...foreign, teamId, broadcastId: newId(T0) }, T0)).toBe(
      undefined,
    )
    expect((await storage().listBroadcastVersions({ ...foreign, limit: 9 }, T0)).items).toEqual([])
  })

  test('rejected changes and changes to other fields create no version', async () => {
    const { by, change, write, subjects, start, id } = await versioned(storage())
    const other = by('bob', T0 + 1)
    expect(await change({ name: 'New', exclude: [] }, T0 + 1, other)).toBe('done')
    expect(await change({ content: { subject: content.subject } }, T0 + 1, other)).toBe('done')
    expect(await change({ content: { subject: 'Lost' } }, T0 + 1, other, { edits: 0 })).toBe('stale')
    expect(await start(id)).toBe('done')
    expect(await write('Late', T0 + 1, other)).toBe('wrong_status')
    expect(await subjects()).toEqual([content.subject])
  })

  test('only the newest versions are kept, and deleting a broadcast deletes them all', async () => {
    const { teamId, id, write, subjects } = await versioned(storage())
    for (let n = 1; n <= 5; n++) await write(`${n}`, T0 + n * 10 * MINUTE)
    expect(await subjects()).toEqual(['5', '4', '3'])
    expect(await storage().deleteBroadcast({ teamId, id }, T0)).toBe('done')
    expect(await subjects()).toEqual([])
  })
}
