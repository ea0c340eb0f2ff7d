import { type TOTP, URI } from 'otpauth'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAccounts } from '../../../appliance/accounts/accounts.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import type { Storage } from '../../../appliance/storage/storage.ts'
import { makeTeam, T0, unique } from '../../contract/fixtures.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'posthaste-account-races-'))
let now = T0
const clock = { now: () => now, after: () => () => undefined }
let storage: Storage

beforeAll(async () => {
  storage = await openSqlite({ dataDir })
})

afterAll(async () => {
  await storage.close()
  rmSync(dataDir, { recursive: true, force: true })
})

test('a TOTP code does not confirm a secret that another request started in the meantime', async () => {
  const { user } = await makeTeam(storage)
  const findTotp: Storage['findTotp'] = async (args, at) => {
    const found = await storage.findTotp(args, at)
    now += 1
    await createAccounts({ storage, clock }).factors.startTotp({ user, issuer: 'Posthaste' })
    return found
  }
  const { factors } = createAccounts({ storage: { ...storage, findTotp }, clock })
  const { uri } = await factors.startTotp({ user, issuer: 'Posthaste' })
  const code = (URI.parse(uri) as TOTP).generate({ timestamp: now })
  const confirmed = factors.confirmTotp({ userId: user.id, token: 'x', code })
  await expect(confirmed).rejects.toMatchObject({ key: 'totp_not_started' })
  expect(await storage.hasSecondFactor({ userId: user.id }, now)).toBe(false)
})

test('an admin cannot replace an invitation that an owner created in the meantime', async () => {
  const { team, user } = await makeTeam(storage)
  const email = `${unique('guest')}@example.com`
  const about = { teamId: team.id, email }
  const owner = { userId: user.id, role: 'owner' as const }
  const invite: Storage['invite'] = async (args, at) => {
    await createAccounts({ storage, clock }).members.invite({ ...about, role: 'owner', by: owner })
    return storage.invite(args, at)
  }
  const { members } = createAccounts({ storage: { ...storage, invite }, clock })
  const invited = members.invite({ ...about, role: 'viewer', by: { userId: null, role: 'admin' } })
  await expect(invited).rejects.toMatchObject({ key: 'owners_only' })
  expect(await storage.listInvitations({ teamId: team.id }, now)).toMatchObject([{ email, role: 'owner' }])
})
