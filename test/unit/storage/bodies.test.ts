import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { type LargeMessageStore, MissingMessage } from '../../../appliance/storage/bodies.ts'
import { openSqlite, type SqliteStorage } from '../../../appliance/storage/sqlite/sqlite.ts'
import { createErasures } from '../../../appliance/senders/senders.ts'
import { DAY, makeTeam, newEmail, putArgs, putEmail, T0 } from '../../contract/fixtures.ts'
import { makeReceiver, newReceived } from '../../contract/received-emails.contract.ts'
import { makePlace } from './places.ts'

/** Creates a store for large messages other than files. Reports whether the bytes were stored before their row. */
function createMemory() {
  const kept = new Map<string, Uint8Array>()
  /** Messages whose files seem to be lost. */
  const missing = new Set<string>()
  const bodies: LargeMessageStore = {
    largestRow: 256 * 1024,
    begin: async () => undefined,
    async put(id, bytes) {
      if (kept.has(id)) throw new Error('There are bytes of this email.')
      kept.set(id, new Uint8Array(bytes))
    },
    async read(id) {
      const bytes = kept.get(id)
      if (!bytes || missing.has(id)) throw new MissingMessage(`The message of email ${id} is missing.`)
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
  return { kept, missing, bodies }
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

test('stores large messages in the configured body store, and small ones in the database', async () => {
  const { team } = await makeTeam(storage)
  const small = await putEmail(storage, team.id, ['a@x.test'])
  const { id } = await putEmail(storage, team.id, ['a@x.test'], T0, { message: large(7) })
  expect([...memory.kept.keys()]).toEqual([id])
  expect(Buffer.from((await storage.getMessage({ emailId: id }, T0))!).equals(large(7))).toBe(true)
  expect((await storage.getMessage({ emailId: small.id }, T0))!.byteLength).toBe(small.message.byteLength)
})

test('deletes messages from the body store when their email is rejected or removed', async () => {
  const foreign = newEmail(newId(T0), ['a@x.test'], T0, { message: large(1) })
  await expect(storage.put(putArgs(foreign), T0)).rejects.toThrow('FOREIGN KEY')
  expect(memory.kept.size).toBe(0)
  const { team } = await makeTeam(storage)
  const { id } = await putEmail(storage, team.id, ['a@x.test'], T0, { message: large(2) })
  await storage.dropQueue({ emailId: id }, T0)
  const { count } = await storage.purgeBodies({ before: T0 + DAY, most: 10 }, T0 + DAY)
  expect([count, memory.kept.size]).toEqual([1, 0])
})

test('the next start deletes stored bodies that have no row', async () => {
  const { team } = await makeTeam(storage)
  const { id } = await putEmail(storage, team.id, ['a@x.test'], T0, { message: large(3) })
  memory.kept.set(newId(T0), large(4))
  await storage.close()
  storage = await openSqlite({ dataDir, bodies: memory.bodies })
  await expect.poll(() => [...memory.kept.keys()]).toEqual([id])
})

describe('received email in the body store', () => {
  const LIMITS = { messages: 10, bytes: 10_000_000 }
  const keep = (...emails: ReturnType<typeof newReceived>[]) =>
    storage.keepReceivedEmails({ emails, limits: LIMITS }, T0)
  const withBytes = (to: Parameters<typeof newReceived>[0], bytes: Uint8Array) => ({
    ...newReceived(to, { size: bytes.length }),
    bytes,
  })

  test('stores large received messages outside the database until retention removes them', async () => {
    const to = await makeReceiver(storage)
    const [one, two] = [withBytes(to, large(5)), newReceived(to)]
    expect(await keep(one, two)).toBe('kept')
    expect([...memory.kept.keys()]).toEqual([one.id])
    const source = await storage.getReceivedSource({ teamId: to.teamId, id: one.id }, T0)
    expect(Buffer.from(source!).equals(large(5))).toBe(true)
    expect((await storage.diskUse({}, T0)).files).toBe(300_000)
    const { team } = await makeTeam(storage)
    expect(await storage.getReceivedSource({ teamId: team.id, id: one.id }, T0)).toBe(undefined)
    expect(await storage.purgeReceived({ before: T0 + DAY, most: 10 }, T0)).toBe(2)
    expect(memory.kept.size).toBe(0)
  })

  test('stores nothing for received email that is rejected or whose bodies are not stored', async () => {
    const to = await makeReceiver(storage)
    const limits = { messages: 10, bytes: 100 }
    expect(await storage.keepReceivedEmails({ emails: [withBytes(to, large(1))], limits }, T0)).toBe('full')
    await storage.setKeepBodies({ teamId: to.teamId, domainId: to.domainId, keep: false }, T0)
    const email = withBytes(to, large(2))
    expect(await keep(email)).toBe('kept')
    const found = await storage.getReceivedEmail({ teamId: to.teamId, id: email.id }, T0)
    expect([found?.hasContent, memory.kept.size]).toEqual([false, 0])
  })

  test('the cleanup at startup keeps received email', async () => {
    const to = await makeReceiver(storage)
    const email = withBytes(to, large(3))
    await keep(email)
    memory.kept.set(newId(T0), large(4))
    await storage.close()
    storage = await openSqlite({ dataDir, bodies: memory.bodies })
    await expect.poll(() => [...memory.kept.keys()]).toEqual([email.id])
  })

  test('an erasure searches received email for the address, and removes only matching messages', async () => {
    const to = await makeReceiver(storage)
    const filler = Buffer.from(`${'x'.repeat(998)}\r\n`.repeat(300))
    const naming = (address: string) =>
      withBytes(to, Buffer.concat([filler, Buffer.from(`Ask ${address}.\r\n`)]))
    const [named, other, lost] = [naming('eve@q.example'), naming('steve@q.example'), naming('eve@q.example')]
    for (const email of [named, newReceived(to), other, lost]) await keep(email)
    memory.missing.add(lost.id)
    const erasures = createErasures({ storage, clock: { now: () => T0, after: () => () => undefined } })
    const wanted = { teamId: to.teamId, address: 'eve@q.example' }
    expect(await erasures.survey(wanted)).toMatchObject({ received_messages: 1 })
    const actor = { kind: 'command', name: 'root', ip: null } as const
    const { id } = await erasures.begin({ ...wanted, actor })
    expect((await erasures.run({ teamId: to.teamId, id })).counts).toMatchObject({ received_messages: 1 })
    expect([...memory.kept.keys()]).toEqual([other.id, lost.id])
  })
})
