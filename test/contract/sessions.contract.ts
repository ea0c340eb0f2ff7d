import { expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { Session, Storage } from '../../appliance/storage/storage.ts'
import { DAY, makeTeam, T0, unique } from './fixtures.ts'

/** Creates a user with sessions, each last seen at the given time in milliseconds. */
async function person(storage: Storage, seen: number[]) {
  const { team, user } = await makeTeam(storage)
  const sessions: Session[] = seen.map((lastSeenAt) => ({
    tokenHash: unique('hash'),
    id: newId(T0),
    teamId: team.id,
    userId: user.id,
    createdAt: T0,
    expiresAt: T0 + DAY,
    lastSeenAt,
    provedAt: T0,
    method: 'password',
    strong: false,
    vouched: false,
    ip: '192.0.2.7',
    userAgent: 'Firefox',
  }))
  for (const session of sessions) await storage.createSession(session, T0)
  return { userId: user.id, sessions }
}

export function sessionsContract(storage: () => Storage): void {
  test('lists a user’s own sessions, last used first, until they expire', async () => {
    const { userId, sessions } = await person(storage(), [T0 + 1, T0 + 3, T0 + 2])
    await person(storage(), [T0])
    const [first, second, third] = sessions
    expect(await storage().listSessions({ userId }, T0)).toEqual([second, third, first])
    expect(await storage().listSessions({ userId }, T0 + DAY)).toEqual([])
  })

  test('a user can end one of their own sessions, but no session of another user', async () => {
    const mine = await person(storage(), [T0, T0])
    const theirs = await person(storage(), [T0])
    const { userId } = mine
    expect(await storage().endSession({ userId, id: theirs.sessions[0]!.id }, T0)).toBe(false)
    expect(await storage().endSession({ userId, id: mine.sessions[0]!.id }, T0)).toBe(true)
    expect(await storage().endSession({ userId, id: mine.sessions[0]!.id }, T0)).toBe(false)
    expect(await storage().listSessions({ userId }, T0)).toEqual([mine.sessions[1]])
    expect(await storage().listSessions({ userId: theirs.userId }, T0)).toHaveLength(1)
  })

  test('a user can end all sessions except one, or all of them', async () => {
    const mine = await person(storage(), [T0, T0, T0])
    const theirs = await person(storage(), [T0])
    const { userId } = mine
    const kept = mine.sessions[1]!
    expect(await storage().endSessions({ userId, keep: kept.tokenHash }, T0)).toBe(2)
    expect(await storage().listSessions({ userId }, T0)).toEqual([kept])
    expect(await storage().endSessions({ userId, keep: null }, T0)).toBe(1)
    expect(await storage().listSessions({ userId: theirs.userId }, T0)).toHaveLength(1)
  })

  test('a renewed session is valid only under its new token', async () => {
    const { userId, sessions } = await person(storage(), [T0, T0])
    const [first, second] = sessions as [Session, Session]
    const renewed = unique('hash')
    const renew = (now: number) => storage().renewSession({ tokenHash: first.tokenHash, renewed }, now)
    expect(await renew(T0 + DAY)).toBe(false)
    expect(await renew(T0)).toBe(true)
    expect(await renew(T0)).toBe(false)
    expect(await storage().findSession({ tokenHash: first.tokenHash }, T0)).toBeUndefined()
    expect((await storage().findSession({ tokenHash: renewed }, T0))?.session.id).toBe(first.id)
    const listed = await storage().listSessions({ userId }, T0)
    expect(new Set(listed.map(({ tokenHash }) => tokenHash))).toEqual(new Set([renewed, second.tokenHash]))
  })
}
