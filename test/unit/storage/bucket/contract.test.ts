import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../../appliance/mail/ids.ts'
import { type LargeMessageStore, MessageFiles, MissingMessage } from '../../../../appliance/storage/bodies.ts'
import { MessageBucket } from '../../../../appliance/storage/bucket/bucket.ts'
import { T0 } from '../../../contract/fixtures.ts'
import { startSwift, type SwiftServer } from '../../../world/swift.ts'

let swift: SwiftServer
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'posthaste-bodies-'))
  swift = await startSwift()
}, 180_000)
afterAll(async () => {
  await swift?.close()
  await rm(folder, { recursive: true, force: true })
})

const openBucket = async (bucket?: string): Promise<MessageBucket> =>
  new MessageBucket({
    ...swift,
    region: 'us-east-1',
    bucket: bucket ?? (await swift.createBucket()),
    pathStyle: true,
    prefix: 'posthaste/',
    largestRow: 64_000,
    writer: 'ab'.repeat(8),
    isWritten: true,
    isServing: true,
  })

/** The places for large messages besides the database, which the storage contract covers on both engines. */
const STORES: Record<string, () => Promise<LargeMessageStore>> = {
  files: async () => new MessageFiles(await mkdtemp(join(folder, 'data-'))),
  bucket: openBucket,
}

const TEST_MS = 120_000

describe.each(Object.entries(STORES))('large messages in %s', (_name, open) => {
  test('returns the bytes that were stored, also of several megabytes', { timeout: TEST_MS }, async () => {
    const store = await open()
    await store.begin()
    const every = Buffer.from(Array.from({ length: 256 }, (_, octet) => octet))
    for (const bytes of [every, Buffer.alloc(5_000_000, every)]) {
      const id = newId(T0)
      await store.put(id, bytes)
      expect(Buffer.from(await store.read(id)).equals(bytes)).toBe(true)
    }
    store.close?.()
  })

  test('rejects a second message of the same email, and keeps the first', { timeout: TEST_MS }, async () => {
    const store = await open()
    await store.begin()
    const id = newId(T0)
    await store.put(id, Buffer.from('first'))
    await expect(store.put(id, Buffer.from('second'))).rejects.toThrow()
    expect(Buffer.from(await store.read(id)).toString()).toBe('first')
    store.close?.()
  })

  test('reports a message that is missing, and removes one twice', { timeout: TEST_MS }, async () => {
    const store = await open()
    await store.begin()
    const id = newId(T0)
    await expect(store.read(id)).rejects.toThrow(MissingMessage)
    await expect(store.read(id)).rejects.toThrow(`The message of email ${id} should be`)
    await store.put(id, Buffer.from('x'))
    await store.remove(id)
    await store.remove(id)
    await expect(store.read(id)).rejects.toThrow(MissingMessage)
    store.close?.()
  })

  test('refuses anything but an ID', { timeout: TEST_MS }, async () => {
    const store = await open()
    await store.begin()
    await expect(store.put('../../x', Buffer.from('x'))).rejects.toThrow('must be a UUID')
    await expect((async () => store.read('..'))()).rejects.toThrow('must be a UUID')
    store.close?.()
  })

  test('stores many messages at the same time', { timeout: TEST_MS }, async () => {
    const store = await open()
    await store.begin()
    const ids = Array.from({ length: 60 }, () => newId(T0))
    await Promise.all(ids.map((id) => store.put(id, Buffer.from(`message ${id}`))))
    const found = await Promise.all(ids.map((id) => store.read(id)))
    expect(found.map((bytes) => Buffer.from(bytes).toString())).toEqual(ids.map((id) => `message ${id}`))
    store.close?.()
  })

  test('keeps young messages without a row', { timeout: TEST_MS }, async () => {
    const store = await open()
    await store.begin()
    const id = newId(T0)
    await store.put(id, Buffer.from('x'))
    expect(
      await store.sweep(
        async () => [],
        () => false,
      ),
    ).toBe(0)
    expect((await store.read(id)).byteLength).toBe(1)
    store.close?.()
  })
})
