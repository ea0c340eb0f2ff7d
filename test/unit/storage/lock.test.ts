import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lockDataDir, openSqlite, StorageRefused } from '../../../appliance/storage/sqlite/sqlite.ts'
import { T0 } from '../../contract/fixtures.ts'
import { kill, makePlace, runChild } from './places.ts'

test('rejects a second daemon on a data directory with the PID of the first, until the first is killed', async () => {
  const dataDir = await makePlace()
  const { child, lines } = runChild('lock-child.ts', dataDir)
  for await (const line of lines) {
    expect(line).toBe('locked')
    break
  }
  const error: unknown = await lockDataDir(dataDir).catch((refusal: unknown) => refusal)
  expect(error).toBeInstanceOf(StorageRefused)
  expect((error as Error).message).toBe(
    `Another daemon is running on ${dataDir} (process ${child.pid}). Stop it first, or give this one its own data_dir.`,
  )
  const storage = await openSqlite({ dataDir })
  expect(await storage.firstTeam({}, T0), 'a command needs no lock').toBeUndefined()
  await storage.close()
  await kill(child)
  const lock = await lockDataDir(dataDir)
  expect(await readFile(join(dataDir, 'daemon.pid'), 'utf8')).toBe(`${process.pid}\n`)
  lock.release()
})

test('a process cannot lock a data directory twice, but can lock it again after release', async () => {
  const dataDir = join(await makePlace(), 'new')
  const lock = await lockDataDir(dataDir)
  await expect(lockDataDir(dataDir)).rejects.toThrow(`process ${process.pid}`)
  lock.release()
  const again = await lockDataDir(dataDir)
  again.release()
})
