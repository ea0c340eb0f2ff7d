import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAccounts } from '../../../appliance/accounts/accounts.ts'
import { newId } from '../../../appliance/mail/ids.ts'
import { systemClock } from '../../../appliance/clock/clock.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import type { Storage } from '../../../appliance/storage/storage.ts'
import { installation, posthaste } from './program.ts'

const { dataDir, config } = installation('[http]\npublic_url = "https://mail.sender.test"\n')
const run = (args: string[], input = '') => posthaste(['user', ...args, '--config', config], { input })
const owner = { email: 'owner@acme.example', password: 'a quiet harbour at dusk', ip: null, userAgent: null }
let storage: Storage
beforeAll(async () => {
  storage = await openSqlite({ dataDir })
  await accounts().createOwner({ ...owner, teamName: 'Acme' })
})
afterAll(() => storage.close())

const accounts = () => createAccounts({ storage, clock: systemClock })

describe('user', () => {
  test('user password sets a password from standard input, and rejects a weak one', async () => {
    expect(await run(['password', 'Owner@acme.example'], 'Sunshine2024\n')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        'Invalid `password` field: a password that is harder to guess',
      ) as string,
    })
    const done = await run(['password', 'Owner@acme.example'], 'another quiet harbour\n')
    expect(done).toMatchObject({ code: 0, stderr: '' })
    expect(done.stdout).toContain('Set the password of owner@acme.example')
    expect(await accounts().signIn(owner)).toBeUndefined()
    expect(await accounts().signIn({ ...owner, password: 'another quiet harbour' })).toMatchObject({
      kind: 'session',
    })
  })

  test('user reset-link prints a link that sets a password, and the audit log does not contain its token', async () => {
    const { code, stdout } = await run(['reset-link', owner.email, '--json'])
    expect(code).toBe(0)
    const { url } = JSON.parse(stdout) as { url: string }
    const [page, token] = url.split('#') as [string, string]
    expect(page).toBe('https://mail.sender.test/dashboard/reset')
    const { items } = await storage.listAudit({ limit: 10 }, Date.now())
    expect(items[0]).toMatchObject({ action: 'user.reset_link', actorKind: 'command' })
    expect(JSON.stringify(items)).not.toContain(token)
    const { user } = await accounts().finishReset({ token, password: 'a third quiet harbour' })
    expect(user.email).toBe(owner.email)
  })

  test('user reset-factors and reset-link print lines that fit a terminal', async () => {
    expect((await run(['reset-factors', owner.email])).stdout).toBe(
      'owner@acme.example had no second step. All sessions of the account were ended.\n' +
        'The password alone is enough to sign in until a second step is set up.\n',
    )
    const [url, , ...sentences] = (await run(['reset-link', owner.email])).stdout.split('\n')
    expect(url).toMatch(/^https:\/\/mail\.sender\.test\/dashboard\/reset#/)
    expect(sentences.join(' ')).toMatch(
      /^Password reset link for owner@acme\.example\. It works once and expires at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\. /,
    )
    expect(sentences.filter((line) => line.length > 80)).toEqual([])
  })

  test('user reset-factors lists linked identities, and removes them with --unlink', async () => {
    const now = Date.now()
    const { id: userId } = (await storage.findUser({ email: owner.email }, now))!
    const identity = {
      id: newId(now),
      userId,
      provider: 'google',
      issuer: 'https://accounts.google.com',
      subject: '7',
      email: 'owner@gmail.example',
      createdAt: now,
      lastUsedAt: null,
    }
    await storage.linkIdentity({ identity }, now)
    const kept = await run(['reset-factors', owner.email])
    expect(kept.stdout).toBe(
      'owner@acme.example had no second step. All sessions of the account were ended.\n' +
        'The password alone is enough to sign in until a second step is set up.\n' +
        'Still linked: the account owner@gmail.example at google. It can also be used to\nsign in.\n' +
        'If someone else may control it, run: posthaste user reset-factors\nowner@acme.example --unlink\n',
    )
    expect(await storage.listIdentities({ userId }, now)).toEqual([identity])
    const taken = await run(['reset-factors', owner.email, '--unlink', '--json'])
    const { id, provider, email } = identity
    expect(JSON.parse(taken.stdout)).toMatchObject({
      removed: { totp: false, identities: [{ id, provider, email }] },
      identities: [],
    })
    expect(await storage.listIdentities({ userId }, now)).toEqual([])
    const { items } = await storage.listAudit({ limit: 1 }, Date.now())
    expect(items[0]).toMatchObject({ action: 'user.reset_factors', details: { unlink: true } })
  })

  test('user password without input fails and changes nothing', async () => {
    expect(await run(['password', owner.email])).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'No password given. Type it at a terminal, or pass it as the first line of standard input. Nothing was changed.\n',
    })
  })

  test('user password and reset-link report an unknown address', async () => {
    const none = { code: 1, stdout: '', stderr: 'There is no account with the address x@acme.example.\n' }
    expect(await run(['password', 'x@acme.example'], 'another quiet harbour\n')).toEqual(none)
    expect(await run(['reset-link', 'x@acme.example'])).toEqual(none)
  })
})
