import { describe, expect } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { Identity, Passkey, Session, Storage, Ticket, User } from '../../appliance/storage/storage.ts'
import { DAY, makeTeam, T0, unique } from './fixtures.ts'
import { sorted, type Racing } from './racing.ts'

const person = (email = `${unique('person')}@example.com`): User => ({
  id: newId(T0),
  email,
  passwordHash: null,
  provenAt: null,
  createdAt: T0,
})

const identityOf = (userId: string, more: Partial<Identity> = {}): Identity => ({
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

const passkeyOf = (userId: string, more: Partial<Passkey> = {}): Passkey => ({
  id: newId(T0),
  userId,
  credentialId: unique('credential'),
  rpId: 'example.com',
  name: 'Key',
  publicKey: new Uint8Array([1]),
  counter: 0,
  transports: [],
  synced: false,
  alone: true,
  createdAt: T0,
  lastUsedAt: null,
  ...more,
})

const sessionOf = (teamId: string, userId: string, more: Partial<Session> = {}): Session => ({
  tokenHash: unique('session'),
  id: newId(T0),
  teamId,
  userId,
  createdAt: T0,
  expiresAt: T0 + DAY,
  lastSeenAt: T0,
  provedAt: T0,
  method: 'password',
  strong: false,
  vouched: false,
  ip: null,
  userAgent: null,
  ...more,
})

/** Creates an owner without a password. */
async function withoutPassword(storage: Storage): Promise<User> {
  const [user, team] = [person(), { id: newId(T0), name: unique('Team'), createdAt: T0 }]
  expect(await storage.createOwner({ team, user }, T0)).toBe('created')
  return user
}

/** Creates an owner with an authenticator app. */
async function withTotp(storage: Storage): Promise<{ teamId: string; userId: string }> {
  const { team, user } = await makeTeam(storage)
  await storage.startTotp({ userId: user.id, secret: new Uint8Array([1]) }, T0)
  expect(await storage.confirmTotp({ userId: user.id, startedAt: T0, step: 1 }, T0)).toBe(true)
  return { teamId: team.id, userId: user.id }
}

const most = 20

/** Races about people, their passwords, sessions, factors and tickets. */
export function racesOfAccounts(race: Racing): void {
  describe('people and passwords', () => peopleRaces(race))
  describe('sessions', () => sessionRaces(race))
  describe('factors', () => factorRaces(race))
  describe('sign-in methods', () => wayInRaces(race))
  describe('tickets', () => ticketRaces(race))
}

function peopleRaces(race: Racing): void {
  race('creates one user when an address signs up twice', async ({ storage, atOnce }) => {
    const email = `${unique('twin')}@example.com`
    const create = (at: Storage) => {
      const team = { id: newId(T0), name: email, createdAt: T0 }
      return at.createOwner({ team, user: person(email) }, T0)
    }
    expect(sorted(await atOnce(create, create))).toEqual(['created', 'exists'])
    expect((await storage.listTeams({}, T0)).filter(({ name }) => name === email)).toHaveLength(1)
  })

  race(
    'accepts one of two changes of the same password, and rejects the other as stale',
    async ({ storage, atOnce }) => {
      const { user } = await makeTeam(storage)
      const was = user.passwordHash!
      const set = (passwordHash: string) => (at: Storage) =>
        at.setPassword({ userId: user.id, passwordHash, keep: null, was }, T0)
      const answers = await atOnce(set('first'), set('second'))
      expect(sorted(answers)).toEqual(['null', 'stale'])
      const stored = await storage.getUser({ id: user.id }, T0)
      expect(stored?.passwordHash).toBe(answers[0] === null ? 'first' : 'second')
    },
  )

  race('reports the first proof of an address once', async ({ storage, atOnce }) => {
    const { user } = await makeTeam(storage)
    await storage.linkIdentity({ identity: identityOf(user.id) }, T0)
    const prove = (at: Storage) =>
      at.setPassword({ userId: user.id, passwordHash: 'new', keep: null, byMail: true }, T0)
    const answers = await atOnce(prove, prove)
    expect(answers.filter((one) => one !== null)).toEqual([{ identities: 1, passkeys: 0 }])
  })
}

function sessionRaces(race: Racing): void {
  race(
    'a sign-in with the old password leaves no session after a password change',
    async ({ storage, atOnce }) => {
      const { team, user } = await makeTeam(storage)
      const passwordHash = user.passwordHash!
      await atOnce(
        (at) => at.createSession({ ...sessionOf(team.id, user.id), passwordHash }, T0),
        (at) => at.setPassword({ userId: user.id, passwordHash: 'new', keep: null }, T0),
      )
      expect(await storage.listSessions({ userId: user.id }, T0)).toEqual([])
    },
  )

  race('no session stays strong while its second factor is removed', async ({ storage, atOnce }) => {
    const { teamId, userId } = await withTotp(storage)
    const session = sessionOf(teamId, userId)
    await storage.createSession(session, T0)
    await atOnce(
      (at) => at.removeTotp({ userId }, T0),
      (at) =>
        Promise.all([
          at.createSession(sessionOf(teamId, userId, { strong: true }), T0),
          at.proveSession({ tokenHash: session.tokenHash, strong: true }, T0),
        ]),
    )
    const sessions = await storage.listSessions({ userId }, T0)
    expect(sessions.map(({ strong }) => strong)).toEqual([false, false])
  })

  race('renews a token once', async ({ storage, atOnce }) => {
    const { team, user } = await makeTeam(storage)
    const { tokenHash } = sessionOf(team.id, user.id)
    await storage.createSession(sessionOf(team.id, user.id, { tokenHash }), T0)
    const renew = (renewed: string) => (at: Storage) => at.renewSession({ tokenHash, renewed }, T0)
    expect(sorted(await atOnce(renew(unique('a')), renew(unique('b'))))).toEqual(['false', 'true'])
    expect(await storage.listSessions({ userId: user.id }, T0)).toHaveLength(1)
  })

  race(
    'no session stays in a team that its user leaves while switching to it',
    async ({ storage, atOnce }) => {
      const [home, other] = [await makeTeam(storage), await makeTeam(storage)]
      const [teamId, userId] = [other.team.id, home.user.id]
      const invitation = {
        id: newId(T0),
        teamId,
        email: home.user.email,
        role: 'viewer' as const,
        invitedBy: null,
        tokenHash: unique('token'),
        mailedHash: null,
        createdAt: T0,
        expiresAt: T0 + DAY,
      }
      await storage.invite({ invitation, most }, T0)
      await storage.acceptInvitation({ id: invitation.id, who: { userId } }, T0)
      const session = sessionOf(home.team.id, userId)
      await storage.createSession(session, T0)
      const [moved] = await atOnce(
        (at) => at.switchTeam({ tokenHash: session.tokenHash, teamId }, T0),
        (at) => at.removeMember({ teamId, userId, spareOwners: true }, T0),
      )
      const left = await storage.listSessions({ userId }, T0)
      expect(left.map((one) => one.teamId)).toEqual(moved ? [] : [home.team.id])
    },
  )
}

function factorRaces(race: Racing): void {
  race(
    'accepts a code once: to confirm a factor, to sign in, and to recover',
    async ({ storage, atOnce }) => {
      const { user } = await makeTeam(storage)
      const userId = user.id
      await storage.startTotp({ userId, secret: new Uint8Array([1]) }, T0)
      const confirm = (at: Storage) => at.confirmTotp({ userId, startedAt: T0, step: 1 }, T0)
      expect(sorted(await atOnce(confirm, confirm))).toEqual(['false', 'true'])
      const use = (at: Storage) => at.useTotp({ userId, step: 7 }, T0)
      expect(sorted(await atOnce(use, use))).toEqual(['false', 'true'])
      await storage.replaceRecoveryCodes({ userId, hashes: ['a', 'b'] }, T0)
      const recover = (at: Storage) => at.useRecoveryCode({ userId, hash: 'a' }, T0)
      expect(sorted(await atOnce(recover, recover))).toEqual(['false', 'true'])
      expect(await storage.countFactors({ userId }, T0)).toMatchObject({ recoveryCodes: 1 })
    },
  )

  race('two concurrent starts of an authenticator app setup both succeed', async ({ storage, atOnce }) => {
    const { user } = await makeTeam(storage)
    const start = (secret: number) => (at: Storage) =>
      at.startTotp({ userId: user.id, secret: new Uint8Array([secret]) }, T0)
    expect(await atOnce(start(1), start(2))).toEqual(['started', 'started'])
  })

  race('confirms an authenticator secret or replaces it, but not both', async ({ storage, atOnce }) => {
    const { user } = await makeTeam(storage)
    const userId = user.id
    const start = (secret: number, now: number) => (at: Storage) =>
      at.startTotp({ userId, secret: new Uint8Array([secret]) }, now)
    await start(1, T0)(storage)
    const [confirmed, started] = await atOnce(
      (at) => at.confirmTotp({ userId, startedAt: T0, step: 1 }, T0 + 5),
      start(2, T0 + 5),
    )
    expect(['true,exists', 'false,started']).toContain(`${confirmed},${started}`)
    const [secret, confirmedAt] = confirmed ? [1, T0 + 5] : [2, null]
    expect(await storage.findTotp({ userId }, T0)).toMatchObject({
      secret: new Uint8Array([secret]),
      confirmedAt,
    })
  })

  race('creates the first set of recovery codes once', async ({ storage, atOnce }) => {
    const { userId } = await withTotp(storage)
    const make = (hash: string) => (at: Storage) =>
      at.replaceRecoveryCodes({ userId, hashes: [hash], keep: true }, T0)
    expect(sorted(await atOnce(make('a'), make('b')))).toEqual(['kept', 'replaced'])
  })

  race('no recovery codes remain when the last factor is removed', async ({ storage, atOnce }) => {
    const { userId } = await withTotp(storage)
    await atOnce(
      (at) => at.replaceRecoveryCodes({ userId, hashes: ['a'] }, T0),
      (at) => at.removeTotp({ userId }, T0),
    )
    expect(await storage.countFactors({ userId }, T0)).toMatchObject({ totp: false, recoveryCodes: 0 })
  })

  race('replacing recovery codes twice leaves one set', async ({ storage, atOnce }) => {
    const { userId } = await withTotp(storage)
    const replace =
      (...hashes: string[]) =>
      (at: Storage) =>
        at.replaceRecoveryCodes({ userId, hashes }, T0)
    await atOnce(replace('a', 'b', 'c'), replace('d', 'e', 'f'))
    expect(await storage.countFactors({ userId }, T0)).toMatchObject({ recoveryCodes: 3 })
  })

  race('a user gets no more passkeys than the limit', async ({ storage, atOnce }) => {
    const { user } = await makeTeam(storage)
    const add = (at: Storage) => at.addPasskey({ passkey: passkeyOf(user.id), most: 1 }, T0)
    expect(sorted(await atOnce(add, add))).toEqual(['added', 'full'])
    expect(await storage.listPasskeys({ userId: user.id }, T0)).toHaveLength(1)
  })

  race('a credential belongs to one passkey', async ({ storage, atOnce }) => {
    const [mine, other] = [await makeTeam(storage), await makeTeam(storage)]
    const credentialId = unique('credential')
    const add = (userId: string) => (at: Storage) =>
      at.addPasskey({ passkey: passkeyOf(userId, { credentialId }), most }, T0)
    expect(sorted(await atOnce(add(mine.user.id), add(other.user.id)))).toEqual(['added', 'exists'])
  })

  race('accepts a passkey signature once', async ({ storage, atOnce }) => {
    const { user } = await makeTeam(storage)
    const passkey = passkeyOf(user.id)
    const { credentialId } = passkey
    await storage.addPasskey({ passkey, most }, T0)
    const use = (at: Storage) => at.usePasskey({ credentialId, counter: 5, synced: false }, T0)
    expect(sorted(await atOnce(use, use))).toEqual(['false', 'true'])
  })

  race('a session that a reset ends adds no passkey', async ({ storage, atOnce }) => {
    const { team, user } = await makeTeam(storage)
    const { tokenHash, ...session } = sessionOf(team.id, user.id)
    await storage.createSession({ tokenHash, ...session }, T0)
    await atOnce(
      (at) => at.addPasskey({ passkey: passkeyOf(user.id), most, tokenHash }, T0),
      (at) => at.resetFactors({ userId: user.id, unlink: true }, T0),
    )
    expect(await storage.listPasskeys({ userId: user.id }, T0)).toEqual([])
  })
}

function wayInRaces(race: Racing): void {
  race('one of two last passkeys cannot be removed', async ({ storage, atOnce }) => {
    const { id: userId } = await withoutPassword(storage)
    const passkeys = [passkeyOf(userId), passkeyOf(userId)] as const
    for (const passkey of passkeys) await storage.addPasskey({ passkey, most }, T0)
    const remove =
      ({ id }: Passkey) =>
      (at: Storage) =>
        at.removePasskey({ userId, id }, T0)
    expect(sorted(await atOnce(remove(passkeys[0]), remove(passkeys[1])))).toEqual(['last', 'removed'])
    expect(await storage.listPasskeys({ userId }, T0)).toHaveLength(1)
  })

  race('either the last passkey or the last identity remains', async ({ storage, atOnce }) => {
    const { id: userId } = await withoutPassword(storage)
    const [passkey, identity] = [passkeyOf(userId), identityOf(userId)]
    await storage.addPasskey({ passkey, most }, T0)
    await storage.linkIdentity({ identity }, T0)
    const [removed, unlinked] = await atOnce(
      (at) => at.removePasskey({ userId, id: passkey.id }, T0),
      (at) => at.unlinkIdentity({ userId, id: identity.id, providers: ['google'], keep: null }, T0),
    )
    expect([`${removed} last`, `last ${unlinked}`]).toContain(`${removed} ${unlinked}`)
    expect([removed, unlinked]).not.toEqual(['last', 'last'])
  })

  race('one of two last identities cannot be unlinked', async ({ storage, atOnce }) => {
    const { id: userId } = await withoutPassword(storage)
    const identities = [identityOf(userId), identityOf(userId)] as const
    for (const identity of identities) await storage.linkIdentity({ identity }, T0)
    const unlink =
      ({ id }: Identity) =>
      (at: Storage) =>
        at.unlinkIdentity({ userId, id, providers: ['google'], keep: null }, T0)
    expect(sorted(await atOnce(unlink(identities[0]), unlink(identities[1])))).toEqual(['last', 'unlinked'])
  })

  race('an identity belongs to one user', async ({ storage, atOnce }) => {
    const [mine, other] = [await makeTeam(storage), await makeTeam(storage)]
    const subject = unique('sub')
    const link = (userId: string) => (at: Storage) =>
      at.linkIdentity({ identity: identityOf(userId, { subject }) }, T0)
    expect(sorted(await atOnce(link(mine.user.id), link(other.user.id)))).toEqual(['linked', 'taken'])
    const again = unique('sub')
    const twice = (at: Storage) =>
      at.linkIdentity({ identity: identityOf(mine.user.id, { subject: again }) }, T0)
    expect(await atOnce(twice, twice)).toEqual(['linked', 'linked'])
    const linked = await storage.listIdentities({ userId: mine.user.id }, T0)
    expect(linked.filter((one) => one.subject === again)).toHaveLength(1)
  })

  race('a session that a reset ends links no identity', async ({ storage, atOnce }) => {
    const { team, user } = await makeTeam(storage)
    const session = sessionOf(team.id, user.id)
    await storage.createSession(session, T0)
    await atOnce(
      (at) => at.linkIdentity({ identity: identityOf(user.id), tokenHash: session.tokenHash }, T0),
      (at) => at.resetFactors({ userId: user.id, unlink: true }, T0),
    )
    expect(await storage.listIdentities({ userId: user.id }, T0)).toEqual([])
  })

  race('admits a new user once', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const [email, subject] = [`${unique('new')}@example.com`, unique('sub')]
    const admit = (at: Storage) => {
      const user = person(email)
      const join = { teamId: team.id, role: 'viewer' as const }
      return at.admitNewcomer({ user, identity: identityOf(user.id, { subject }), join }, T0)
    }
    const answers = await atOnce(admit, admit)
    expect(answers.filter((one) => one !== undefined)).toEqual([[{ teamId: team.id, role: 'viewer' }]])
    expect(await storage.listMembers({ teamId: team.id }, T0)).toHaveLength(2)
  })
}

function ticketRaces(race: Racing): void {
  const ticketOf = (): Ticket => ({
    tokenHash: unique('ticket'),
    kind: 'reset',
    userId: null,
    data: 1,
    createdAt: T0,
    expiresAt: T0 + DAY,
  })

  race('accepts a ticket once', async ({ storage, atOnce }) => {
    const kept = ticketOf()
    await storage.createTicket(kept, T0)
    const take = (at: Storage) => at.takeTicket(kept, T0)
    expect((await atOnce(take, take)).filter((one) => one !== undefined)).toEqual([kept])
  })

  race('counts every attempt on a ticket', async ({ storage, atOnce }) => {
    const kept = ticketOf()
    await storage.createTicket(kept, T0)
    const twice = (at: Storage) =>
      Promise.all([at.tryTicket({ ...kept, most: 3 }, T0), at.tryTicket({ ...kept, most: 3 }, T0)])
    const answers = (await atOnce(twice, twice)).flat()
    expect(answers.filter((one) => one !== undefined)).toHaveLength(3)
    expect(await storage.peekTicket(kept, T0)).toBeUndefined()
  })
}
