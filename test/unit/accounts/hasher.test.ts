import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createAccounts } from '../../../appliance/accounts/accounts.ts'
import { createHasher } from '../../../appliance/accounts/hasher.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import { createTestClock } from '../../world/clock.ts'

/** Password hashes as the program makes them. Other tests run with cheap ones (scripts/cheap-argon2.mjs). */

const COST = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/

describe('the password hasher', () => {
  test('accounts store argon2id hashes with 19 MiB and two passes', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'posthaste-hasher-'))
    const storage = await openSqlite({ dataDir })
    try {
      const accounts = createAccounts({ storage, clock: createTestClock() })
      const owner = { email: 'owner@example.com', password: 'a long password', teamName: 'Acme' }
      const { user } = await accounts.createOwner(owner)
      expect(user.passwordHash).toMatch(COST)
    } finally {
      await storage.close()
      await rm(dataDir, { recursive: true, force: true })
    }
  })

  test('accepts the password of a hash in any form of its characters, and no other', async () => {
    const hasher = createHasher()
    const hash = await hasher.hash('Kaffeem\u00fchle um neun')
    expect(hash).toMatch(COST)
    expect(await hasher.verify(hash, 'Kaffeemu\u0308hle um neun')).toBe(true)
    expect(await hasher.verify(hash, 'Kaffeemuhle um neun')).toBe(false)
  })

  test('the password hasher rejects every password when there is no hash', async () => {
    expect(await createHasher().verify(null, 'a long password')).toBe(false)
  })

  test('the password hasher rejects attempts beyond its queue limit, and serves those in the queue', async () => {
    const hasher = createHasher()
    const asked = Array.from({ length: 45 }, () => hasher.verify(null, 'x'))
    const results = await Promise.allSettled(asked)
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(40)
    const refused = results.filter((result) => result.status === 'rejected')
    expect(refused.map(({ reason }) => (reason as Error).message)).toEqual(
      Array(5).fill('Too many attempts. Try again in 10 seconds.'),
    )
    expect(await hasher.verify(null, 'x')).toBe(false)
  })
})
