import { afterEach, beforeEach, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import type { Bodies } from '../../../appliance/storage/bodies.ts'
import { openSqlite, type SqliteStorage } from '../../../appliance/storage/sqlite/sqlite.ts'
import { DAY, makeTeam, newEmail, putArgs, putEmail, T0 } from '../../contract/fixtures.ts'
import { makePlace } from './places.ts'

/** Another store of large messages than files, which tells whether bytes came before their row. */
function createMemory() {
  const kept = new Map<string, Uint8Array>()
  const bodies: Bodies = {
    begin: async () => undefined,
    async put(id, bytes) {
      if (kept.has(id)) throw new Error('There are bytes of this email.')
      kept.set(id, new Uint8Array(bytes))
    },
    async read(id) {
      const bytes = kept.get(id)
      if (!bytes) throw new Error(`The message of email ${id} is missing.`)
      return bytes
    },
    remove: async (id) => void kept.delete(id),
    async sweep(existing) {
      const ids = [...kept.keys()]
      const rows = new Set(await existing(ids))
      const orphans = ids.filter((id) => !rows.has(id))
      for (const id of orphans) kept.delete(id)
      return orphans.length
    },
  }
  return { kept, bodies }
}

const large = (fill: number): Buffer => Buffer.alloc(300_000, fill)

let memory: ReturnType<typeof createMemory>
let dataDir: string
let storage: SqliteStorage
beforeEach(async () => {
  memory = createMemory()
  dataDir = await makePlace()
  storage = await openSqlite({ dataDir, bodies: memory.bodies })
})
afterEach(() => storage.close())

test('large messages are where the engine was told, and small ones are not', async () => {
  const { team } = await makeTeam(storage)
  const small = await putEmail(storage, team.id, ['a@x.test'])
  const { id } = await putEmail(storage, team.id, ['a@x.test'], T0, { message: large(7) })
  expect([...memory.kept.keys()]).toEqual([id])
  expect(Buffer.from((await storage.getMessage({ emailId: id }, T0))!).equals(large(7))).toBe(true)
  expect((await storage.getMessage({ emailId: small.id }, T0))!.byteLength).toBe(small.message.byteLength)
})

test('bytes whose email is refused are taken back, and those of an email that is removed go with it', async () => {
  const foreign = newEmail(newId(T0), ['a@x.test'], T0, { message: large(1) })
  await expect(storage.put(putArgs(foreign), T0)).rejects.toThrow('FOREIGN KEY')
  expect(memory.kept.size).toBe(0)
  const { team } = await makeTeam(storage)
  const { id } = await putEmail(storage, team.id, ['a@x.test'], T0, { message: large(2) })
  await storage.dropQueue({ emailId: id }, T0)
  const { count } = await storage.purgeBodies({ before: T0 + DAY, most: 10 }, T0 + DAY)
  expect([count, memory.kept.size]).toEqual([1, 0])
})

test('the next start sweeps bytes without a row', async () => {
  const { team } = await makeTeam(storage)
  const { id } = await putEmail(storage, team.id, ['a@x.test'], T0, { message: large(3) })
  memory.kept.set(newId(T0), large(4))
  await storage.close()
  storage = await openSqlite({ dataDir, bodies: memory.bodies })
  await expect.poll(() => [...memory.kept.keys()]).toEqual([id])
})
