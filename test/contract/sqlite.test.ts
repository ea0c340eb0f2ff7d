import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { openSqlite } from '../../appliance/storage/sqlite/sqlite.ts'
import { storageContract } from './storage.contract.ts'

const made: string[] = []

storageContract('SQLite', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'posthaste-contract-'))
  made.push(dataDir)
  return openSqlite({ dataDir })
})

afterAll(() => Promise.all(made.map((path) => rm(path, { recursive: true, force: true }))))
