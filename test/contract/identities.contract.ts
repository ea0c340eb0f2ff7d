import { expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { Identity, NewInvitation, Storage, User } from '../../appliance/storage/storage.ts'
import { DAY, makeTeam, T0, unique } from './fixtures.ts'

const identity = (userId: string, more: Partial<Identity> = {}): Identity => ({
  id: newId(T0),
  userId,
  provider: 'google',
  issuer: 'https://login.example',
  subject: unique('sub'),
  email: 'somebody@example.com',
  createdAt: T0,
  lastUsedAt: null,
  ...more,
})
const newcomer = (): User => ({
  id: newId(T0),
  email: `${unique('New')}@example.com`,
  passwordHash: null,
  provenAt: null,
  createdAt: T0,
})

export function identitiesContract(storage: () => Storage): void {
  const list = (userId: string) => storage().listIdentities({ userId }, T0)

  test('finds an identity by issuer and subject together', async () => {
    const { user } = await makeTeam(storage())
    const one = identity(user.id)
    expect(await storage().linkIdentity({ identity: one }, T0)).toBe('linked')
    expect(await storage().findIdentity(one, T0)).toEqual(one)
    expect(await storage().findIdentity({ ...one, issuer: 'https://other.example' }, T0)).toBeUndefined()
    await storage().useIdentity({ id: one.id, email: 'renamed@example.com' }, T0 + 5)
    expect(await list(user.id)).toEqual([{ ...one, email: 'renamed@example.com', lastUsedAt: T0 + 5 }])
  })

  test('an identity belongs to one user, who can link it again, while others cannot', async () => {
    const [{ user }, { user: other }] = [await makeTeam(storage()), await makeTeam(storage())]
    const one = identity(user.id)
    await storage().linkIdentity({ identity: one }, T0)
    const again = (userId: string) => ({ identity: { ...one, id: newId(T0), userId } })
    expect(await storage().linkIdentity(again(other.id), T0)).toBe('taken')
    expect(await storage().linkIdentity(again(user.id), T0)).toBe('linked')
    expect(await list(user.id)).toEqual([one])
    expect(await list(other.id)).toEqual([])
  })

  test('unlinking ends the user’s sessions from its provider, except the current one', async () => {
    const { team, user } = await makeTeam(storage())
    const { user: other } = await makeTeam(storage())
    const one = identity(user.id)
    await storage().linkIdentity({ identity: one }, T0)
    const methods = { a: 'oidc:google', b: 'oidc:google', c: 'password', d: 'oidc:corp' } as const
    const hash = unique('hash')
    for (const [name, method] of Object.entries(methods))
      await storage().createSession(
        {
          tokenHash: `${hash}${name}`,
          id: newId(T0),
          teamId: team.id,
          userId: user.id,
          method,
          createdAt: T0,
          expiresAt: T0 + DAY,
          lastSeenAt: T0,
          provedAt: T0,
          strong: false,
          vouched: false,
          ip: null,
          userAgent: null,
        },
        T0,
      )
    const ask = { id: one.id, providers: ['google'], keep: `${hash}a` }
    expect(await storage().unlinkIdentity({ ...ask, userId: other.id }, T0)).toBe('missing')
    expect(await storage().unlinkIdentity({ ...ask, userId: user.id }, T0)).toBe('unlinked')
    const alive = []
    for (const name of Object.keys(methods))
      if (await storage().findSession({ tokenHash: `${hash}${name}` }, T0)) alive.push(name)
    expect(alive).toEqual(['a', 'c', 'd'])
  })

  test('the last sign-in method cannot be removed; another identity counts only if its provider is configured', async () => {
    const { team } = await makeTeam(storage())
    const user = newcomer()
    const one = identity(user.id)
    const join = { teamId: team.id, role: 'viewer' } as const
    expect(await storage().admitNewcomer({ user, identity: one, join }, T0)).toEqual([join])
    await storage().linkIdentity({ identity: identity(user.id, { provider: 'corp' }) }, T0)
    const unlink = (providers: string[]) =>
      storage().unlinkIdentity({ userId: user.id, id: one.id, providers, keep: null }, T0)
    expect(await unlink(['google'])).toBe('last')
    expect(await unlink(['google', 'corp'])).toBe('unlinked')
  })

  test('a new user accepts all invitations for the address, and joins no other team', async () => {
    const [{ team }, { team: second }, { team: joined }] = [
      await makeTeam(storage()),
      await makeTeam(storage()),
      await makeTeam(storage()),
    ]
    const user = newcomer()
    for (const teamId of [team.id, second.id]) {
      const invitation: NewInvitation = {
        id: newId(T0),
        teamId,
        email: user.email.toUpperCase(),
        role: 'developer' as const,
        invitedBy: null,
        tokenHash: unique('token'),
        mailedHash: null,
        createdAt: T0,
        expiresAt: T0 + DAY,
      }
      await storage().invite({ invitation, most: 10 }, T0)
    }
    const join = { teamId: joined.id, role: 'viewer' } as const
    const admitted = await storage().admitNewcomer({ user, identity: identity(user.id), join }, T0)
    expect(admitted?.map(({ teamId }) => teamId).sort()).toEqual([team.id, second.id].sort())
    expect((await storage().membershipsOf({ userId: user.id }, T0)).map(({ role }) => role)).toEqual([
      'developer',
      'developer',
    ])
    expect(await storage().findUser({ email: user.email }, T0)).toEqual(user)
  })

  test('rejects a new user without a team, or with an address or identity that is already in use', async () => {
    const { team, user: there } = await makeTeam(storage())
    const join = { teamId: team.id, role: 'viewer' } as const
    const known = identity(there.id)
    await storage().linkIdentity({ identity: known }, T0)
    const user = newcomer()
    const mine = identity(user.id)
    const tries = [
      { user, identity: mine, join: null },
      { user, identity: mine, join: { ...join, teamId: newId(T0) } },
      { user: { ...user, email: there.email }, identity: mine, join },
      { user, identity: { ...known, id: newId(T0), userId: user.id }, join },
    ]
    for (const one of tries) expect(await storage().admitNewcomer(one, T0)).toBeUndefined()
    expect(await storage().getUser({ id: user.id }, T0)).toBeUndefined()
  })
}
