import { expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { Session, Storage } from '../../appliance/storage/storage.ts'
import { DAY, makeTeam, T0, unique } from './fixtures.ts'

const session = (teamId: string, userId: string, tokenHash: string): Session => ({
  tokenHash,
  teamId,
  userId,
  createdAt: T0,
  expiresAt: T0 + DAY,
  id: newId(T0),
  lastSeenAt: T0,
  provedAt: T0,
  method: 'password',
  strong: false,
  vouched: false,
  ip: '192.0.2.7',
  userAgent: null,
})

export function accountsContract(storage: () => Storage): void {
  test('finding the first team returns nothing before setup, and the oldest team afterwards', async () => {
    expect(await storage().firstTeam({}, T0)).toBeUndefined()
    const { team } = await makeTeam(storage(), T0)
    await makeTeam(storage(), T0 + 1)
    expect(await storage().firstTeam({}, T0)).toEqual(team)
  })

  test('finding a user by address ignores case and returns the address as entered', async () => {
    const { user } = await makeTeam(storage())
    expect(await storage().findUser({ email: user.email.toUpperCase() }, T0)).toEqual(user)
    expect(await storage().findUser({ email: 'nobody@example.com' }, T0)).toBeUndefined()
  })

  test('rejects a second owner with the same address and creates no team', async () => {
    const { user } = await makeTeam(storage())
    const again = {
      team: { id: newId(T0 - 1), name: 'Second', createdAt: T0 - 1 },
      user: { ...user, id: newId(T0), email: user.email.toUpperCase() },
    }
    expect(await storage().createOwner(again, T0)).toBe('exists')
    expect((await storage().firstTeam({}, T0))?.id).not.toBe(again.team.id)
    expect(await storage().findUser({ email: user.email }, T0)).toEqual(user)
  })

  test('setup creates only the first team', async () => {
    const made = await makeTeam(storage())
    const other = {
      team: { ...made.team, id: newId(T0) },
      user: { ...made.user, id: newId(T0), email: `${unique('o')}@x.test` },
    }
    expect(await storage().createOwner({ ...other, onlyFirst: true }, T0)).toBe('exists')
    expect(await storage().findUser({ email: other.user.email }, T0)).toBeUndefined()
  })

  test('creates only one of two owners with the same address created concurrently', async () => {
    const make = (n: number) => ({
      team: { id: newId(T0), name: `Team ${n}`, createdAt: T0 },
      user: { id: newId(T0), email: 'same@example.com', passwordHash: 'x', provenAt: null, createdAt: T0 },
    })
    const results = await Promise.all([
      storage().createOwner(make(1), T0),
      storage().createOwner(make(2), T0),
    ])
    expect(results.sort()).toEqual(['created', 'exists'])
  })

  test('setting a password replaces it', async () => {
    const { user } = await makeTeam(storage())
    await storage().setPassword({ userId: user.id, passwordHash: 'new', keep: null }, T0)
    expect(await storage().findUser({ email: user.email }, T0)).toEqual({ ...user, passwordHash: 'new' })
  })

  test('the first password set through an emailed link proves the address and removes linked identities', async () => {
    const { user } = await makeTeam(storage())
    const subject = unique('subject')
    const identity = {
      id: newId(T0),
      userId: user.id,
      provider: 'corp',
      issuer: 'i',
      subject,
      email: 'a@x.example',
      createdAt: T0,
      lastUsedAt: null,
    }
    await storage().linkIdentity({ identity }, T0)
    const set = (byMail: boolean, now: number) =>
      storage().setPassword({ userId: user.id, passwordHash: 'new', keep: null, byMail }, now)
    expect(await set(false, T0 + 1)).toBe(null)
    expect(await set(true, T0 + 2)).toEqual({ identities: 1, passkeys: 0 })
    expect(await storage().findIdentity({ issuer: 'i', subject }, T0)).toBeUndefined()
    await storage().linkIdentity({ identity }, T0)
    expect(await set(true, T0 + 3)).toBe(null)
    expect(await storage().findIdentity({ issuer: 'i', subject }, T0)).toMatchObject({ userId: user.id })
    expect((await storage().getUser({ id: user.id }, T0))?.provenAt).toBe(T0 + 2)
  })

  test.each([
    ['all of the user’s sessions', false],
    ['all of the user’s sessions but the one to keep', true],
  ])('a new password ends %s, and no other user’s sessions', async (_, keeping) => {
    const [mine, other] = [await makeTeam(storage()), await makeTeam(storage())]
    const [here, elsewhere, theirs] = [unique('here'), unique('elsewhere'), unique('theirs')]
    for (const hash of [here, elsewhere])
      await storage().createSession(session(mine.team.id, mine.user.id, hash), T0)
    await storage().createSession(session(other.team.id, other.user.id, theirs), T0)
    // Another user's token keeps no session alive, even if it is valid.
    const keep = keeping ? here : theirs
    await storage().setPassword({ userId: mine.user.id, passwordHash: 'new', keep }, T0)
    const open = async (tokenHash: string) => (await storage().findSession({ tokenHash }, T0)) !== undefined
    expect([await open(here), await open(elsewhere), await open(theirs)]).toEqual([keeping, false, true])
  })

  test('finds a session with its user and team until it expires', async () => {
    const hash = unique('hash')
    const { team, user } = await makeTeam(storage())
    const stored = session(team.id, user.id, hash)
    await storage().createSession(stored, T0)
    const found = await storage().findSession({ tokenHash: hash }, T0 + DAY - 1)
    const rules = { role: 'owner', hasSecondFactor: false, mfaRequired: false }
    expect(found).toEqual({ session: stored, user, team, ...rules })
    expect(await storage().findSession({ tokenHash: hash }, T0 + DAY)).toBeUndefined()
    expect(await storage().findSession({ tokenHash: unique('other') }, T0)).toBeUndefined()
  })

  test('deletes a session, and accepts deleting it again', async () => {
    const hash = unique('hash')
    const { team, user } = await makeTeam(storage())
    await storage().createSession(session(team.id, user.id, hash), T0)
    await storage().deleteSession({ tokenHash: hash }, T0)
    await storage().deleteSession({ tokenHash: hash }, T0)
    expect(await storage().findSession({ tokenHash: hash }, T0)).toBeUndefined()
  })

  test('purges only expired sessions and returns their number', async () => {
    await storage().purgeSessions({}, T0 + 10 * DAY)
    const [hash, longer] = [unique('hash'), unique('hash')]
    const { team, user } = await makeTeam(storage())
    await storage().createSession(session(team.id, user.id, hash), T0)
    await storage().createSession({ ...session(team.id, user.id, longer), expiresAt: T0 + 2 * DAY }, T0)
    expect(await storage().purgeSessions({}, T0 + DAY - 1)).toBe(0)
    expect(await storage().purgeSessions({}, T0 + DAY)).toBe(1)
    expect(await storage().findSession({ tokenHash: longer }, T0 + DAY)).toBeDefined()
  })
}
