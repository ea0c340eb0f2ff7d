import { expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { Passkey, SignInMethod, Storage, Ticket } from '../../appliance/storage/storage.ts'
import { DAY, makeTeam, MINUTE, T0, unique } from './fixtures.ts'

const ticket = (more: Partial<Ticket> = {}): Ticket => ({
  tokenHash: unique('ticket'),
  kind: 'reset',
  userId: null,
  data: { to: ['plain', 1, null] },
  createdAt: T0,
  expiresAt: T0 + MINUTE,
  ...more,
})

/** Tests of tickets and the factors that people confirm them with. */
export function ticketsContract(storage: () => Storage): void {
  test('a ticket is valid for its kind until it is used or expires', async () => {
    const kept = ticket()
    const { tokenHash } = kept
    await storage().createTicket(kept, T0)
    expect(await storage().peekTicket({ tokenHash, kind: 'reset' }, T0)).toEqual(kept)
    expect(await storage().peekTicket({ tokenHash, kind: 'oidc' }, T0)).toBeUndefined()
    expect(await storage().takeTicket({ tokenHash, kind: 'oidc' }, T0)).toBeUndefined()
    expect(await storage().takeTicket({ tokenHash, kind: 'reset' }, T0 + MINUTE)).toBeUndefined()
    expect(await storage().takeTicket({ tokenHash, kind: 'reset' }, T0)).toEqual(kept)
    expect(await storage().peekTicket({ tokenHash, kind: 'reset' }, T0)).toBeUndefined()
  })

  test('only one of many concurrent requests can use a ticket', async () => {
    const kept = ticket()
    await storage().createTicket(kept, T0)
    const takers = Array.from({ length: 8 }, () => storage().takeTicket(kept, T0))
    expect((await Promise.all(takers)).filter((one) => one !== undefined)).toEqual([kept])
  })

  test('a ticket is removed after too many attempts', async () => {
    const kept = ticket()
    await storage().createTicket(kept, T0)
    const tries = Array.from({ length: 4 }, () => storage().tryTicket({ ...kept, most: 3 }, T0))
    expect((await Promise.all(tries)).map((one) => one !== undefined)).toEqual([true, true, true, false])
    expect(await storage().peekTicket(kept, T0)).toBeUndefined()
  })

  test('a new password ends reset links and pending sign-ins of its user only', async () => {
    const [mine, other] = [await makeTeam(storage()), await makeTeam(storage())]
    const kept = [
      ticket({ userId: mine.user.id }),
      ticket({ userId: mine.user.id, kind: 'second_factor' }),
      ticket({ userId: mine.user.id, kind: 'oidc' }),
      ticket({ userId: other.user.id }),
    ]
    for (const one of kept) await storage().createTicket(one, T0)
    await storage().setPassword({ userId: mine.user.id, passwordHash: 'new', keep: null }, T0)
    const left = await Promise.all(kept.map((one) => storage().peekTicket(one, T0)))
    expect(left.map((one) => one !== undefined)).toEqual([false, false, true, true])
  })

  test('purges only expired tickets and returns their number', async () => {
    await storage().purgeTickets({}, T0 + 10 * DAY)
    const [short, long] = [ticket(), ticket({ expiresAt: T0 + DAY })]
    for (const one of [short, long]) await storage().createTicket(one, T0)
    expect(await storage().purgeTickets({}, T0 + MINUTE - 1)).toBe(0)
    expect(await storage().purgeTickets({}, T0 + MINUTE)).toBe(1)
    expect(await storage().peekTicket(long, T0 + MINUTE)).toEqual(long)
  })

  test('only one of several concurrent uses of a code succeeds, and older codes are rejected afterwards', async () => {
    const userId = (await makeTeam(storage())).user.id
    expect(await storage().useTotp({ userId, step: 7 }, T0)).toBe(false)
    expect(await storage().startTotp({ userId, secret: new Uint8Array([1]) }, T0)).toBe('started')
    expect(await storage().startTotp({ userId, secret: new Uint8Array([2]) }, T0)).toBe('started')
    expect(await storage().hasSecondFactor({ userId }, T0)).toBe(false)
    expect(await storage().confirmTotp({ userId, startedAt: T0, step: 7 }, T0)).toBe(true)
    expect(await storage().confirmTotp({ userId, startedAt: T0, step: 8 }, T0)).toBe(false)
    expect(await storage().startTotp({ userId, secret: new Uint8Array([3]) }, T0)).toBe('exists')
    expect((await storage().findTotp({ userId }, T0))?.secret).toEqual(new Uint8Array([2]))
    const uses = await Promise.all([9, 9, 8, 7].map((step) => storage().useTotp({ userId, step }, T0)))
    expect(uses).toEqual([true, false, false, false])
  })

  test('the last sign-in method cannot be removed', async () => {
    const made = await makeTeam(storage())
    const user = { ...made.user, id: newId(T0), email: `${unique('p')}@x.test`, passwordHash: null }
    await storage().createOwner({ team: { ...made.team, id: newId(T0) }, user }, T0)
    const passkey: Passkey = {
      id: newId(T0),
      userId: user.id,
      credentialId: unique('credential'),
      rpId: 'mail.example',
      name: 'Key',
      publicKey: new Uint8Array([1]),
      counter: 0,
      transports: [],
      synced: false,
      alone: true,
      createdAt: T0,
      lastUsedAt: null,
    }
    await storage().addPasskey({ passkey, most: 2 }, T0)
    const remove = () => storage().removePasskey({ userId: user.id, id: passkey.id }, T0)
    expect(await remove()).toBe('last')
    await storage().setPassword({ userId: user.id, passwordHash: 'x', keep: null }, T0)
    expect(await remove()).toBe('removed')
    expect(await remove()).toBe('missing')
  })

  test('a passkey counter only increases, a passkey has one user, and removing the last one removes the recovery codes', async () => {
    const [mine, other] = [(await makeTeam(storage())).user.id, (await makeTeam(storage())).user.id]
    const credentialId = unique('credential')
    const passkey: Passkey = {
      id: newId(T0),
      userId: mine,
      credentialId,
      rpId: 'mail.example',
      name: 'Key',
      publicKey: new Uint8Array([1, 2]),
      counter: 0,
      transports: ['usb'],
      synced: false,
      alone: true,
      createdAt: T0,
      lastUsedAt: null,
    }
    expect(await storage().addPasskey({ passkey, most: 1 }, T0)).toBe('added')
    const again = { ...passkey, id: newId(T0) }
    expect(await storage().addPasskey({ passkey: again, most: 1 }, T0)).toBe('full')
    expect(await storage().addPasskey({ passkey: { ...again, userId: other }, most: 1 }, T0)).toBe('exists')
    expect(await storage().findPasskey({ credentialId }, T0)).toEqual(passkey)
    const used = (counter: number) => storage().usePasskey({ credentialId, counter, synced: true }, T0)
    expect([await used(0), await used(0), await used(5), await used(5), await used(0)]).toEqual([
      true,
      true,
      true,
      false,
      false,
    ])
    await storage().replaceRecoveryCodes({ userId: mine, hashes: ['a', 'b'] }, T0)
    const use = () => storage().useRecoveryCode({ userId: mine, hash: 'a' }, T0)
    expect((await Promise.all([use(), use()])).sort()).toEqual([false, true])
    const { id } = passkey
    expect(await storage().removePasskey({ userId: other, id }, T0)).toBe('missing')
    expect(await storage().countFactors({ userId: mine }, T0)).toEqual({
      totp: false,
      passkeys: 1,
      recoveryCodes: 1,
    })
    expect(await storage().removePasskey({ userId: mine, id }, T0)).toBe('removed')
    expect(await storage().countFactors({ userId: mine }, T0)).toEqual({
      totp: false,
      passkeys: 0,
      recoveryCodes: 0,
    })
  })

  test('a session counts as strongly authenticated only while its factor or linked provider exists', async () => {
    const { user, team } = await makeTeam(storage())
    const userId = user.id
    const identity = { id: newId(T0), userId, provider: 'corp', issuer: 'https://corp.example' }
    const told = { subject: unique('sub'), email: 'a@corp.example', createdAt: T0, lastUsedAt: null }
    await storage().linkIdentity({ identity: { ...identity, ...told } }, T0)
    const began = async (method: SignInMethod, strong: boolean, vouched = false) => {
      const tokenHash = unique('session')
      const times = { createdAt: T0, expiresAt: T0 + DAY, lastSeenAt: T0, provedAt: T0 }
      const about = { id: newId(T0), method, strong, vouched, ip: null, userAgent: null }
      await storage().createSession({ tokenHash, teamId: team.id, userId, ...times, ...about }, T0)
      return tokenHash
    }
    const confirm = async () => {
      await storage().startTotp({ userId, secret: new Uint8Array([1]) }, T0)
      await storage().confirmTotp({ userId, startedAt: T0, step: 1 }, T0)
    }
    const vouched = await began('oidc:corp', true, true)
    const sessions = [vouched]
    const strong = async () => {
      const found = []
      for (const tokenHash of sessions)
        found.push((await storage().findSession({ tokenHash }, T0))?.session.strong)
      return found
    }
    // The factor was removed in the meantime, so neither a completed sign-in nor a proof makes the session strong.
    sessions.push(await began('passkey', true), await began('password', false))
    await storage().proveSession({ tokenHash: sessions[2]!, strong: true }, T0)
    expect(await strong()).toEqual([true, false, false])
    await confirm()
    expect(await strong()).toEqual([true, false, false])
    sessions.push(await began('oidc:corp', true))
    await storage().proveSession({ tokenHash: sessions[2]!, strong: true }, T0)
    expect(await strong()).toEqual([true, false, true, true])
    const listed = await storage().listSessions({ userId }, T0)
    expect(listed.filter((one) => one.strong && one.vouched).map(({ tokenHash }) => tokenHash)).toEqual([
      vouched,
    ])
    await storage().removeTotp({ userId }, T0)
    expect(await strong()).toEqual([true, false, false, false])
    await confirm()
    expect(await strong()).toEqual([true, false, false, false])
    const unlink = { userId, id: identity.id, providers: ['corp'], keep: vouched }
    await storage().setPassword({ userId, passwordHash: 'x', keep: vouched }, T0)
    expect(await storage().unlinkIdentity(unlink, T0)).toBe('unlinked')
    expect(await strong()).toEqual([false, undefined, undefined, undefined])
  })

  test('resetting the factors removes them and ends the sessions', async () => {
    const { user, team } = await makeTeam(storage())
    const userId = user.id
    await storage().startTotp({ userId, secret: new Uint8Array([1]) }, T0)
    await storage().confirmTotp({ userId, startedAt: T0, step: 1 }, T0)
    const tokenHash = unique('session')
    const times = { createdAt: T0, expiresAt: T0 + DAY, lastSeenAt: T0, provedAt: T0 }
    const about = {
      id: newId(T0),
      method: 'password',
      strong: true,
      vouched: false,
      ip: null,
      userAgent: null,
    } as const
    await storage().createSession({ tokenHash, teamId: team.id, userId, ...times, ...about }, T0)
    expect(await storage().resetFactors({ userId, unlink: false }, T0)).toEqual({
      identities: [],
      totp: true,
      passkeys: 0,
      recoveryCodes: 0,
    })
    expect(await storage().hasSecondFactor({ userId }, T0)).toBe(false)
    expect(await storage().findSession({ tokenHash }, T0)).toBeUndefined()
  })

  test('resetting the factors keeps linked identities unless unlinking is requested', async () => {
    const { user } = await makeTeam(storage())
    const userId = user.id
    const identity = {
      id: newId(T0),
      userId,
      provider: 'corp',
      issuer: 'https://corp.example',
      subject: unique('sub'),
      email: 'a@corp.example',
      createdAt: T0,
      lastUsedAt: null,
    }
    await storage().linkIdentity({ identity }, T0)
    const had = { totp: false, passkeys: 0, recoveryCodes: 0, identities: [identity] }
    expect(await storage().resetFactors({ userId, unlink: false }, T0)).toEqual(had)
    expect(await storage().listIdentities({ userId }, T0)).toEqual([identity])
    expect(await storage().resetFactors({ userId, unlink: true }, T0)).toEqual(had)
    expect(await storage().listIdentities({ userId }, T0)).toEqual([])
  })
}
