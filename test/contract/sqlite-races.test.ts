import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { lockDataDir, openSqlite } from '../../appliance/storage/sqlite/sqlite.ts'
import { racesContract } from './races.contract.ts'

const made: string[] = []

// The first connection is the daemon's, which locks the directory. The second is a command's, which needs no lock.
racesContract('SQLite', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'posthaste-races-'))
  made.push(dataDir)
  const lock = await lockDataDir(dataDir)
  const daemon = await openSqlite({ dataDir })
  const command = await openSqlite({ dataDir })
  const close = async (): Promise<void> => {
    await daemon.close()
    lock.release()
  }
  return [{ ...daemon, close }, command]
})

afterAll(() => Promise.all(made.map((path) => rm(path, { recursive: true, force: true }))))
