import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import {
  leaseArgs,
  makeTeam,
  newDomain,
  newEmail,
  putEmail,
  T0,
  putArgs,
  summaryOf,
} from '../../contract/fixtures.ts'
import { makePlace, runChild } from './places.ts'

const cause = { phase: 'queue' as const, host: null, ip: null, reply: null, note: 'Interrupted.' }

const mode = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8)

describe('a data directory', () => {
  test('a data directory is created with its parents, accessible only by the owner, as is the database', async () => {
    const dataDir = join(await makePlace(), 'var', 'posthaste')
    const storage = await openSqlite({ dataDir })
    expect(await mode(dataDir)).toBe('700')
    for (const file of ['posthaste.db', 'posthaste.db-wal', 'posthaste.db-shm']) {
      expect(await mode(join(dataDir, file)), file).toBe('600')
    }
    await storage.close()
  })

  test('an existing data directory keeps its mode', async () => {
    const dataDir = join(await makePlace(), 'shared')
    await mkdir(dataDir, { mode: 0o750 })
    await (await openSqlite({ dataDir })).close()
    expect(await mode(dataDir)).toBe('750')
  })

  test('a data directory that cannot be created is reported with its path', async () => {
    const dataDir = '/dev/null/posthaste'
    await expect(openSqlite({ dataDir })).rejects.toThrow(`Cannot create the data directory ${dataDir}`)
  })
})

describe('closing and reopening storage', () => {
  test('closing and reopening storage keeps all data', async () => {
    const dataDir = await makePlace()
    const before = await openSqlite({ dataDir })
    const { team, user } = await makeTeam(before)
    const { domain, keys } = newDomain(team.id, 'example.com')
    await before.createDomain({ domain, keys }, T0)
    const email = await putEmail(before, team.id, ['a@x.example', 'b@y.example'], T0, {
      message: Buffer.alloc(300_000, 7),
    })
    await before.lease(leaseArgs({ limit: 1 }), T0)
    const history = await before.getHistory({ teamId: team.id, id: email.id }, T0)
    await before.close()

    const after = await openSqlite({ dataDir })
    expect(await after.firstTeam({}, T0)).toEqual(team)
    expect(await after.findUser({ email: user.email }, T0)).toEqual(user)
    expect(await after.listDomains({ teamId: team.id }, T0)).toEqual([domain])
    expect(await after.getHistory({ teamId: team.id, id: email.id }, T0)).toEqual(history)
    const message = await after.getMessage({ emailId: email.id }, T0)
    expect(Buffer.from(message!).equals(email.message)).toBe(true)
    expect(await after.voidLeases({ owners: ['one'], cause, firstDueAt: T0 }, T0)).toBe(1)
    await after.close()
  })

  test('closing storage finishes earlier calls, rejects later ones and removes the WAL', async () => {
    const dataDir = await makePlace()
    const storage = await openSqlite({ dataDir })
    const { team } = await makeTeam(storage)
    const sizes = [10, 300_000, 10]
    const puts = sizes.map((size) =>
      storage.put(putArgs(newEmail(team.id, ['a@x.example'], T0, { message: Buffer.alloc(size) })), T0),
    )
    const closing = storage.close()
    expect(storage.close()).toBe(closing)
    await expect(storage.firstTeam({}, T0)).rejects.toThrow('The storage is closed.')
    await expect(Promise.all(puts)).resolves.toHaveLength(3)
    await closing
    await expect(stat(join(dataDir, 'posthaste.db-wal'))).rejects.toThrow('ENOENT')
    const again = await openSqlite({ dataDir })
    expect((await summaryOf(again, {}, T0)).waiting).toBe(3)
    await again.close()
  })

  test('two clients can open a new directory at once, and each sees the other’s writes', async () => {
    const dataDir = await makePlace()
    const [daemon, command] = await Promise.all([openSqlite({ dataDir }), openSqlite({ dataDir })])
    const { team } = await makeTeam(command)
    await putEmail(daemon, team.id, ['a@x.example'])
    expect(await command.holdQueue({}, T0)).toEqual({ count: 1, next: null })
    expect(await summaryOf(daemon, {}, T0)).toMatchObject({ held: 1, waiting: 0 })
    await command.close()
    await putEmail(daemon, team.id, ['b@x.example'])
    await daemon.close()
  })
})

test('a process killed during puts loses no acknowledged email', async () => {
  const dataDir = await makePlace()
  const { child, lines } = runChild('put-child.ts', dataDir)
  const acknowledged: string[] = []
  let teamId = ''
  for await (const line of lines) {
    if (teamId === '') teamId = line
    else acknowledged.push(line)
    if (acknowledged.length === 400) child.kill('SIGKILL')
  }
  expect(acknowledged.length).toBeGreaterThanOrEqual(400)
  const storage = await openSqlite({ dataDir })
  for (const line of acknowledged) {
    const [id, fill, size] = line.split(' ') as [string, string, string]
    const message = await storage.getMessage({ emailId: id }, T0)
    expect(message && Buffer.from(message).equals(Buffer.alloc(Number(size), Number(fill))), id).toBe(true)
    const { deliveries } = await storage.getHistory({ teamId, id }, T0)
    expect(deliveries).toMatchObject([{ state: 'waiting' }])
  }
  await storage.close()
})
