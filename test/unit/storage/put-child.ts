/** Stores emails endlessly, some with large messages, and prints each ID once it is acknowledged. */
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import { makeTeam, newEmail, putArgs } from '../../contract/fixtures.ts'

const storage = await openSqlite({ dataDir: process.argv[2]! })
const { team } = await makeTeam(storage, Date.now())
process.stdout.write(`${team.id}\n`)

async function putForever(worker: number): Promise<never> {
  for (let i = worker; ; i++) {
    const now = Date.now()
    const message = Buffer.alloc(i % 25 === 0 ? 300_000 : 4_000, i % 251)
    const email = newEmail(team.id, ['a@example.net'], now, { message })
    await storage.put(putArgs(email), now)
    process.stdout.write(`${email.id} ${i % 251} ${message.byteLength}\n`)
  }
}

await Promise.all(Array.from({ length: 20 }, (_, worker) => putForever(worker)))
