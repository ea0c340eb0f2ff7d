import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createAccounts, SESSION_LIFETIME, type Accounts } from '../../../appliance/accounts/accounts.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import type { Storage } from '../../../appliance/storage/storage.ts'
import { createTestClock, type TestClock } from '../../world/clock.ts'
import { sessionOf } from '../../world/signed-in.ts'

let storage: Storage
let accounts: Accounts
let clock: TestClock

beforeEach(async () => {
  clock = createTestClock()
  storage = await openSqlite({ dataDir: mkdtempSync(join(tmpdir(), 'posthaste-accounts-')) })
  accounts = createAccounts({ storage, clock })
})
afterEach(() => storage.close())

const owner = { email: 'Owner@Example.com', password: 'a long password', teamName: ' Acme ' }
const browser = { ip: '192.0.2.1', userAgent: 'test' }
const signIn = async (email: string, password: string) => {
  const result = await accounts.signIn({ email, password, ...browser })
  return result && sessionOf(result)
}

describe('the first owner', () => {
  test('the first owner is created once, with a team', async () => {
    expect(await accounts.firstTeam()).toBeUndefined()
    const { user, team } = await accounts.createOwner(owner)
    expect(user.email).toBe('owner@example.com')
    expect(user.passwordHash).toMatch(/^\$argon2id\$v=19\$/)
    expect(team.name).toBe('Acme')
    expect(await accounts.firstTeam()).toEqual(team)
    await expect(accounts.createOwner({ ...owner, email: 'b@example.com' })).rejects.toThrow(
      "This server already has an owner. Sign in with the owner's address.",
    )
  })

  test('rejects a first owner with an invalid address, password or team name', async () => {
    const refused: [Partial<typeof owner>, string][] = [
      [{ email: 'nobody' }, 'Invalid `email` field: an address such as you@example.com.'],
      [{ email: 'a b@example.com' }, 'Invalid `email` field: an address such as you@example.com.'],
      [{ password: 'short' }, 'Invalid `password` field: at least 10 characters.'],
      [{ teamName: ' ' }, 'Invalid `team` field: a name of 1 to 100 characters.'],
      [{ teamName: 'a\nb' }, 'Invalid `team` field: it must not contain line breaks or NUL.'],
    ]
    for (const [change, message] of refused)
      await expect(accounts.createOwner({ ...owner, ...change })).rejects.toThrow(message)
    expect(await accounts.firstTeam()).toBeUndefined()
  })
})

describe('a sign-in', () => {
  test('signing in accepts the address in any case, and only the right password', async () => {
    const { user, team } = await accounts.createOwner(owner)
    const session = (await signIn(' OWNER@example.COM', owner.password))!
    expect(session.token).toMatch(/^[\w-]{43}$/)
    expect(await accounts.resume(session.token)).toMatchObject({
      user,
      team,
      expiresAt: session.expiresAt,
      hasSecondFactor: false,
      session: { method: 'password', strong: false, ip: browser.ip, userAgent: browser.userAgent },
    })
    expect(await signIn('owner@example.com', 'a long Password')).toBeUndefined()
    expect(await signIn('owner@example.com', '')).toBeUndefined()
    expect(await signIn('owner@example.com', 'x'.repeat(10_000_000))).toBeUndefined()
    expect(await signIn('else@example.com', owner.password)).toBeUndefined()
  })

  test('signing in accepts a password in another Unicode normalization form', async () => {
    await accounts.createOwner({ ...owner, password: 'Zauberwörter'.normalize('NFC') })
    expect(await signIn(owner.email, 'Zauberwörter'.normalize('NFD'))).toBeDefined()
  })

  test('a session expires after 14 days', async () => {
    await accounts.createOwner(owner)
    const { token, expiresAt } = (await signIn(owner.email, owner.password))!
    expect(expiresAt).toBeLessThanOrEqual(clock.now() + SESSION_LIFETIME)
    await clock.advance(SESSION_LIFETIME - 60_000)
    expect(await accounts.resume(token)).toBeDefined()
    await clock.advance(60_001)
    expect(await accounts.resume(token)).toBeUndefined()
    expect(await accounts.purgeSessions()).toBe(1)
  })

  test('signing out ends the session in that browser only', async () => {
    await accounts.createOwner(owner)
    const first = (await signIn(owner.email, owner.password))!
    const second = (await signIn(owner.email, owner.password))!
    await accounts.signOut(first.token)
    expect(await accounts.resume(first.token)).toBeUndefined()
    expect(await accounts.resume(second.token)).toBeDefined()
    expect(await accounts.resume('')).toBeUndefined()
    expect(await accounts.resume('x'.repeat(1000))).toBeUndefined()
  })

  test('signing in requires the new password once it is set', async () => {
    const { user } = await accounts.createOwner(owner)
    await expect(accounts.setPassword({ userId: user.id, password: 'short' })).rejects.toThrow(
      'at least 10 characters',
    )
    await accounts.setPassword({ userId: user.id, password: 'another password' })
    expect(await signIn(owner.email, owner.password)).toBeUndefined()
    expect(await signIn(owner.email, 'another password')).toBeDefined()
  })

  test('a session ends when the password changes, except in the browser that changed it', async () => {
    const { user } = await accounts.createOwner(owner)
    const here = (await signIn(owner.email, owner.password))!
    const elsewhere = (await signIn(owner.email, owner.password))!
    await accounts.setPassword({ userId: user.id, password: 'another password', keep: here.token })
    expect(await accounts.resume(here.token)).toBeDefined()
    expect(await accounts.resume(elsewhere.token)).toBeUndefined()
    await accounts.setPassword({ userId: user.id, password: 'a third password' })
    expect(await accounts.resume(here.token)).toBeUndefined()
  })

  test('a session stays valid when a new password is rejected', async () => {
    const { user } = await accounts.createOwner(owner)
    const { token } = (await signIn(owner.email, owner.password))!
    await expect(accounts.setPassword({ userId: user.id, password: 'short' })).rejects.toThrow()
    expect(await accounts.resume(token)).toBeDefined()
  })
})
