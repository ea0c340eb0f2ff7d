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
  ip: '192.0.2.7',
  userAgent: null,
})

export function accountsContract(storage: () => Storage): void {
  test('there is no team before set-up, and the oldest one after', async () => {
    expect(await storage().firstTeam({}, T0)).toBeUndefined()
    const { team } = await makeTeam(storage(), T0)
    await makeTeam(storage(), T0 + 1)
    expect(await storage().firstTeam({}, T0)).toEqual(team)
  })

  test('a user is found by address, whatever its case, as it was given', async () => {
    const { user } = await makeTeam(storage())
    expect(await storage().findUser({ email: user.email.toUpperCase() }, T0)).toEqual(user)
    expect(await storage().findUser({ email: 'nobody@example.com' }, T0)).toBeUndefined()
  })

  test('a second owner with the same address is refused, and no team is left behind', async () => {
    const { user } = await makeTeam(storage())
    const again = {
      team: { id: newId(T0 - 1), name: 'Second', createdAt: T0 - 1 },
      user: { ...user, id: newId(T0), email: user.email.toUpperCase() },
    }
    expect(await storage().createOwner(again, T0)).toBe('exists')
    expect((await storage().firstTeam({}, T0))?.id).not.toBe(again.team.id)
    expect(await storage().findUser({ email: user.email }, T0)).toEqual(user)
  })

  test('of two owners made at once with one address, one is created', async () => {
    const make = (n: number) => ({
      team: { id: newId(T0), name: `Team ${n}`, createdAt: T0 },
      user: { id: newId(T0), email: 'same@example.com', passwordHash: 'x', createdAt: T0 },
    })
    const results = await Promise.all([
      storage().createOwner(make(1), T0),
      storage().createOwner(make(2), T0),
    ])
    expect(results.sort()).toEqual(['created', 'exists'])
  })

  test('a password is replaced', async () => {
    const { user } = await makeTeam(storage())
    await storage().setPassword({ userId: user.id, passwordHash: 'new' }, T0)
    expect(await storage().findUser({ email: user.email }, T0)).toEqual({ ...user, passwordHash: 'new' })
  })

  test('a session is found with its user and team until it expires', async () => {
    const hash = unique('hash')
    const { team, user } = await makeTeam(storage())
    const stored = session(team.id, user.id, hash)
    await storage().createSession(stored, T0)
    const found = await storage().findSession({ tokenHash: hash }, T0 + DAY - 1)
    expect(found).toEqual({ session: stored, user, team })
    expect(await storage().findSession({ tokenHash: hash }, T0 + DAY)).toBeUndefined()
    expect(await storage().findSession({ tokenHash: unique('other') }, T0)).toBeUndefined()
  })

  test('a deleted session is gone; deleting it again is no error', async () => {
    const hash = unique('hash')
    const { team, user } = await makeTeam(storage())
    await storage().createSession(session(team.id, user.id, hash), T0)
    await storage().deleteSession({ tokenHash: hash }, T0)
    await storage().deleteSession({ tokenHash: hash }, T0)
    expect(await storage().findSession({ tokenHash: hash }, T0)).toBeUndefined()
  })

  test('only expired sessions are purged, and counted', async () => {
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
