import { expect, test } from 'vitest'
import { firstIdAt } from '../../../appliance/mail/ids.ts'
import { parseReturnPath } from '../../../appliance/mail/return-path.ts'
import { createReturnPaths, KEY_PERIOD } from '../../../appliance/senders/return-paths.ts'
import type { Storage } from '../../../appliance/storage/storage.ts'

const HOST = 'send.example.com'
const START = 56 * KEY_PERIOD

/** Creates a storage of secrets, and a clock that the test sets. */
function setUp() {
  const secrets = new Map<string, Uint8Array>()
  const time = { now: START }
  const storage: Pick<Storage, 'secret'> = {
    secret: async ({ name, fresh }) => {
      if (!secrets.has(name)) secrets.set(name, fresh)
      return secrets.get(name)!
    },
  }
  const clock = { now: () => time.now } as Parameters<typeof createReturnPaths>[0]['clock']
  const open = () => createReturnPaths({ storage, clock })
  const isOurs = (address: string) => open().isOurs(parseReturnPath(address)!)
  return { secrets, time, open, isOurs }
}

test('a return path is recognized by every process of one storage, and by no other', async () => {
  const { open, isOurs } = setUp()
  const path = await open().make(firstIdAt(START), HOST)
  expect(await isOurs(path)).toBe(true)
  expect(await setUp().isOurs(path)).toBe(false)
})

test('each period has its own key, and the previous one remains valid', async () => {
  const { open, isOurs, time, secrets } = setUp()
  const first = await open().make(firstIdAt(START + KEY_PERIOD - 1), HOST)
  time.now = START + KEY_PERIOD
  const second = await open().make(firstIdAt(time.now), HOST)
  expect(secrets.size).toBe(2)
  expect([await isOurs(first), await isOurs(second)]).toEqual([true, true])
  time.now = START + 2 * KEY_PERIOD
  expect([await isOurs(first), await isOurs(second)]).toEqual([false, true])
})

test('forged return paths cause no keys to be created', async () => {
  const { isOurs, secrets } = setUp()
  const forged = (ms: number): string =>
    `bounce+${firstIdAt(ms).replaceAll('-', '')}-${'0'.repeat(21)}@${HOST}`
  for (const ms of [START - 2 * KEY_PERIOD, START + KEY_PERIOD, START + 17 * KEY_PERIOD])
    expect(await isOurs(forged(ms))).toBe(false)
  expect(secrets.size).toBe(0)
})
