import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { StartupError } from '../../../appliance/wire/listeners.ts'
import { startDoor, type Door } from './harness.ts'

let door: Door
let holder: Server
let taken: string

beforeAll(async () => {
  door = await startDoor()
  holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  taken = `127.0.0.1:${(holder.address() as AddressInfo).port}`
})
afterAll(async () => {
  holder.close()
  await door.close()
})

test('an explicitly configured port that is in use prevents startup', async () => {
  const listening = door.server.listen([{ address: taken, kind: { name: 'starttls' } }])
  await expect(listening).rejects.toThrow(StartupError)
})

test('a default port that is in use is skipped, and the others listen', async () => {
  const [first, second] = await door.server.listen([
    { address: taken, kind: { name: 'starttls' }, byDefault: true },
    { address: '127.0.0.1:0', kind: { name: 'starttls' }, byDefault: true },
  ])
  expect(first).toBeNull()
  expect(second).toMatch(/^127\.0\.0\.1:\d+$/)
})
