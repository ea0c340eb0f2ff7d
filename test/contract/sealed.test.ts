import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { sealStorage, openSealer } from '../../appliance/secrets/secrets.ts'
import { openSqlite, sqliteSealing } from '../../appliance/storage/sqlite/sqlite.ts'
import { T0 } from './fixtures.ts'
import { storageContract } from './storage.contract.ts'

const made: string[] = []
afterAll(() => made.forEach((place) => rmSync(place, { recursive: true, force: true })))

/** A storage with sealed secrets must behave the same as any other. */
storageContract('SQLite with sealed secrets', async () => {
  const place = mkdtempSync(join(tmpdir(), 'posthaste-sealed-'))
  made.push(place)
  const dataDir = join(place, 'data')
  const storage = await openSqlite({ dataDir })
  return sealStorage(storage, openSealer({ dataDir, keyFile: undefined, env: {} }, sqliteSealing, T0))
})
