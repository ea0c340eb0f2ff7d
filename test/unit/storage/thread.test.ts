import { expect, test } from 'vitest'
import { openSqlite, StorageLost } from '../../../appliance/storage/sqlite/sqlite.ts'
import { Thread } from '../../../appliance/storage/engine/thread.ts'
import { makePlace } from './places.ts'

test('when a thread dies, pending and later calls are rejected, and the owner is notified once', async () => {
  const told: string[] = []
  const thread = await Thread.start({
    name: 'dies',
    script: new URL('./crash-thread.ts', import.meta.url),
    data: {},
    onLost: (error) => told.push(error.message),
  })
  const calls = await Promise.allSettled([1, 2, 3].map(() => thread.call('put', {}, 0)))
  const sentence =
    'The storage stopped working: out of memory. Nothing is lost that was accepted before. Restart the daemon.'
  for (const outcome of calls) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { message: sentence } })
    expect((outcome as PromiseRejectedResult).reason).toBeInstanceOf(StorageLost)
  }
  await expect(thread.call('put', {}, 0)).rejects.toThrow(sentence)
  expect(told).toEqual([sentence])
  await thread.close()
})

test('arguments that cannot be cloned are rejected, and the thread keeps working', async () => {
  const storage = await openSqlite({ dataDir: await makePlace() })
  const uses = (() => undefined) as unknown as { id: string; at: number; prefix: null }[]
  await expect(storage.touchApiKeys({ uses }, 0)).rejects.toThrow('could not be cloned')
  await expect(storage.touchApiKeys({ uses: [] }, 0)).resolves.toBeUndefined()
  await storage.close()
})

test('calls that arrive while the thread is busy share commits', async () => {
  const storage = await openSqlite({ dataDir: await makePlace() })
  const calls: Promise<unknown>[] = []
  // Each call is made in its own turn of the event loop, as requests arrive. All are made long before a disk could
  // complete them one by one.
  for (let n = 0; n < 300; n++) {
    calls.push(storage.secret({ name: `secret ${n}`, fresh: new Uint8Array([n % 256]) }, 0))
    await new Promise((resolve) => setImmediate(resolve))
  }
  const answers = await Promise.all(calls)
  expect(answers.map((bytes) => (bytes as Uint8Array)[0])).toEqual(answers.map((_, n) => n % 256))
  expect(storage.stats().calls).toBe(300)
  expect(storage.stats().commits).toBeLessThan(300)
  await storage.close()
})
