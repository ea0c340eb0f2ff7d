import { expect, test } from 'vitest'
import type { Storage } from '../../appliance/storage/storage.ts'
import { DAY, makeTeam, T0 } from './fixtures.ts'

const id = (letter: string): string => letter.repeat(64)
const purge = (storage: Storage, now: number): Promise<number> =>
  storage.purgeImages({ before: now - 30 * DAY, most: 10 }, now)

async function stage(storage: Storage) {
  const teamId = (await makeTeam(storage)).team.id
  const put = (letter: string, { used = false, size = 10, now = T0, most = 100 } = {}) => {
    const body = new Uint8Array(size).fill(7)
    const image = { teamId, id: id(letter), type: 'image/png' as const, width: 2, height: 1, body, used }
    return storage.putImage({ image, most }, now)
  }
  const ids = async (): Promise<string[]> =>
    (await storage.listImages({ teamId }, T0)).map((image) => image.id[0]!)
  return { teamId, put, ids }
}

/** Tests of images that emails load. */
export function imagesContract(storage: () => Storage): void {
  test('stores the same bytes as one image, and returns them to readers', async () => {
    const { put, ids } = await stage(storage())
    const info = { id: id('a'), type: 'image/png', width: 2, height: 1, bytes: 10, createdAt: T0 }
    expect(await put('a')).toEqual({ image: info, created: true })
    expect(await put('a', { now: T0 + 1 })).toEqual({ image: info, created: false })
    const read = await storage().readImage({ id: id('a') }, T0)
    expect([read?.type, [...read!.body]]).toEqual(['image/png', Array<number>(10).fill(7)])
    expect(await storage().readImage({ id: id('0') }, T0)).toBeUndefined()
    await put('b', { now: T0 + 1 })
    expect(await ids()).toEqual(['b', 'a'])
    expect(await storage().listImages({ teamId: (await makeTeam(storage())).team.id }, T0)).toEqual([])
  })

  test('limits a team’s image storage, and counts an image once', async () => {
    const { put, ids } = await stage(storage())
    await put('a', { size: 60 })
    expect(await put('b', { size: 41 })).toBeNull()
    expect(await put('a', { size: 60 })).toMatchObject({ created: false })
    expect(await put('b', { size: 40 })).toMatchObject({ created: true })
    expect((await ids()).length).toBe(2)
  })

  test('two concurrent uploads store one image and keep to the limit', async () => {
    const { put, ids } = await stage(storage())
    const made = await Promise.all([put('a', { size: 60 }), put('a', { size: 60 }), put('b', { size: 60 })])
    expect(made.filter((one) => one?.created)).toHaveLength(1)
    expect(made[2]).toBeNull()
    expect(await ids()).toEqual(['a'])
  })

  test('purges images that were unused for a month, and keeps others', async () => {
    // Removes images of other tests.
    await purge(storage(), T0 + 31 * DAY)
    const { teamId, put, ids } = await stage(storage())
    await put('a')
    await put('b', { used: true })
    await put('c')
    await put('d')
    await put('d', { used: true })
    await storage().useImages({ teamId, ids: [id('c'), id('0')] }, T0 + DAY)
    await storage().useImages({ teamId, ids: [] }, T0 + DAY)
    expect(await purge(storage(), T0 + 30 * DAY)).toBe(0)
    expect(await purge(storage(), T0 + 30 * DAY + 1)).toBe(1)
    expect((await ids()).sort()).toEqual(['b', 'c', 'd'])
  })

  test('a team deletes only its own images', async () => {
    const [own, other] = [await stage(storage()), await stage(storage())]
    await own.put('e', { used: true })
    expect(await storage().deleteImage({ teamId: other.teamId, id: id('e') }, T0)).toBe(false)
    expect(await storage().deleteImage({ teamId: own.teamId, id: id('e') }, T0)).toBe(true)
    expect(await storage().deleteImage({ teamId: own.teamId, id: id('e') }, T0)).toBe(false)
  })
}
