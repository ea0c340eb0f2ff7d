import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSourceRegistry, type SourceRegistry } from '../../../appliance/sources/sources.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import type { Storage } from '../../../appliance/storage/storage.ts'
import { T0 } from '../../contract/fixtures.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'posthaste-source-races-'))
const clock = { now: () => T0, after: () => () => undefined }
let storage: Storage

beforeAll(async () => {
  storage = await openSqlite({ dataDir })
})

afterAll(async () => {
  await storage.close()
  rmSync(dataDir, { recursive: true, force: true })
})

const open = (on: Storage): SourceRegistry =>
  createSourceRegistry({
    storage: on,
    nodeId: 'here',
    clock,
    hostname: 'mail.example',
    configured: [],
    warmUp: false,
  })

const ips = async () => (await storage.listSources({}, T0)).map(({ ip }) => ip)

/** Creates a book. After its first read of the sources, another process changes them. */
function interrupted(meanwhile: () => Promise<unknown>): SourceRegistry {
  let once = true
  const first = async () => {
    if (once) await meanwhile()
    once = false
  }
  return open({
    ...storage,
    async listSources(args, now) {
      const sources = await storage.listSources(args, now)
      await first()
      return sources
    },
  })
}

test('an address added by another process replaces the default address', async () => {
  const other = open(storage)
  await interrupted(() => other.add({ ip: '192.0.2.1' })).reconcile()
  expect(await ips()).toEqual(['192.0.2.1'])
})

test('the default address stays when another process removes the last one', async () => {
  const other = open(storage)
  await interrupted(() => other.remove('192.0.2.1')).reconcile()
  expect(await ips()).toEqual(['auto'])
  await storage.addSource(
    { source: { ...(await other.get('auto')), ip: '192.0.2.2', origin: 'operator' }, nodeId: 'here' },
    T0,
  )
  await interrupted(() => other.remove('192.0.2.2')).reconcile()
  expect(await ips()).toEqual(['auto'])
})
