import { expect, test } from 'vitest'
import { openSqlite, StorageLost } from '../../../appliance/storage/sqlite/sqlite.ts'
import { Thread } from '../../../appliance/storage/sqlite/thread.ts'
import { makePlace } from './places.ts'

test('when a thread dies, pending and later calls are rejected, and the owner is told once', async () => {
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

test('arguments that are no plain data are refused and the thread lives on', async () => {
  const storage = await openSqlite({ dataDir: await makePlace() })
  const uses = (() => undefined) as unknown as { id: string; at: number }[]
  await expect(storage.touchApiKeys({ uses }, 0)).rejects.toThrow('could not be cloned')
  await expect(storage.touchApiKeys({ uses: [] }, 0)).resolves.toBeUndefined()
  await storage.close()
})
