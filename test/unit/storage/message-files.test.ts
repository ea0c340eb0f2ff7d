import { readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { MessageFiles } from '../../../appliance/storage/bodies.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import { makeTeam, newEmail, putEmail, T0, putArgs } from '../../contract/fixtures.ts'
import { makePlace } from './places.ts'

const LARGEST_ROW = 256 * 1024
const twoHoursAgo = (): Date => new Date(Date.now() - 2 * 60 * 60 * 1000)

let dataDir: string
beforeEach(async () => {
  dataDir = await makePlace()
})

const place = (id: string): string => join(dataDir, 'messages', id.slice(-2), id)

async function allFiles(): Promise<string[]> {
  const names = await readdir(join(dataDir, 'messages'), { recursive: true })
  return names.filter((name) => name.includes('/')).sort()
}

describe('large message files', () => {
  test('writes files for messages over 256 KiB, readable only by the owner', async () => {
    const storage = await openSqlite({ dataDir })
    const { team } = await makeTeam(storage)
    await putEmail(storage, team.id, ['a@x.example'], T0, { message: Buffer.alloc(LARGEST_ROW, 1) })
    const message = Buffer.alloc(LARGEST_ROW + 1, 2)
    const { id } = await putEmail(storage, team.id, ['a@x.example'], T0, { message })
    await storage.close()
    expect(await allFiles()).toEqual([`${id.slice(-2)}/${id}`])
    expect((await readFile(place(id))).equals(message)).toBe(true)
    expect((await stat(place(id))).mode & 0o777).toBe(0o600)
    expect((await stat(join(dataDir, 'messages'))).mode & 0o777).toBe(0o700)
  })

  test('a rejected email leaves no message file behind', async () => {
    const storage = await openSqlite({ dataDir })
    const email = newEmail(newId(T0), ['a@x.example'], T0, { message: Buffer.alloc(LARGEST_ROW + 1) })
    await expect(storage.put(putArgs(email), T0)).rejects.toThrow('FOREIGN KEY')
    expect(await allFiles()).toEqual([])
    await storage.close()
  })

  test('a missing message file is reported with its path', async () => {
    const storage = await openSqlite({ dataDir })
    const { team } = await makeTeam(storage)
    const message = Buffer.alloc(LARGEST_ROW + 1)
    const { id } = await putEmail(storage, team.id, ['a@x.example'], T0, { message })
    await rm(place(id))
    await expect(storage.getMessage({ emailId: id }, T0)).rejects.toThrow(`should be in ${place(id)}`)
    await storage.close()
  })

  test('message files are never outside the directory, whatever the ID', async () => {
    const files = new MessageFiles(dataDir)
    await expect(files.put('../../../etc/passwd', Buffer.alloc(1))).rejects.toThrow('must be a UUID')
    await expect(files.read('..')).rejects.toThrow('must be a UUID')
  })
})

describe('cleanup of message files', () => {
  test('the cleanup removes only old files without an email, and old temporary files', async () => {
    const storage = await openSqlite({ dataDir })
    const { team } = await makeTeam(storage)
    const message = Buffer.alloc(LARGEST_ROW + 1)
    const kept = await putEmail(storage, team.id, ['a@x.example'], T0, { message })
    await storage.close()
    const files = new MessageFiles(dataDir)
    const [orphan, young] = [newId(T0), newId(T0)]
    await files.put(orphan, message)
    await files.put(young, message)
    const temporary = `${place(kept.id)}.1.1.tmp`
    const foreign = join(dataDir, 'messages', kept.id.slice(-2), 'README')
    await writeFile(temporary, 'x')
    await writeFile(foreign, 'x')
    await writeFile(join(dataDir, 'messages', 'stray'), 'x')
    for (const path of [place(kept.id), place(orphan), temporary, foreign]) {
      await utimes(path, twoHoursAgo(), twoHoursAgo())
    }

    const removed = Promise.withResolvers<object>()
    const logger = {
      info: (fields: object) => removed.resolve(fields),
      error: (fields: object) => removed.reject(new Error(JSON.stringify(fields))),
    }
    const again = await openSqlite({ dataDir, logger })
    expect(await removed.promise).toEqual({ files: 2 })
    await again.close()
    const names = [kept.id, young].map((id) => `${id.slice(-2)}/${id}`)
    expect(await allFiles()).toEqual([...names, `${kept.id.slice(-2)}/README`].sort())
  })
})
