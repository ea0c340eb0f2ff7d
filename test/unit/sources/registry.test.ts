import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import { createTestClock } from '../../world/clock.ts'
import { makePlace } from '../storage/places.ts'
import { createSourceRegistry } from '../../../appliance/sources/sources.ts'

test('startup applies the configuration of its own node and keeps other nodes’ sending IPs', async () => {
  const storage = await openSqlite({ dataDir: join(await makePlace(), 'data') })
  const start = async (nodeId: string, ...configured: string[]): Promise<string[]> => {
    const book = createSourceRegistry({
      storage,
      nodeId,
      clock: createTestClock(),
      hostname: 'mail.example',
      configured,
      warmUp: false,
    })
    await book.reconcile()
    return (await book.list()).map(({ ip }) => ip)
  }
  expect(await start('here', '192.0.2.1', '192.0.2.2')).toEqual(['192.0.2.1', '192.0.2.2'])
  expect(await start('there', '192.0.2.3')).toEqual(['192.0.2.1', '192.0.2.2', '192.0.2.3'])
  expect(await start('here', '192.0.2.2')).toEqual(['192.0.2.2', '192.0.2.3'])
  expect(await start('there', '192.0.2.4')).toEqual(['192.0.2.2', '192.0.2.4'])
  await storage.close()
})
