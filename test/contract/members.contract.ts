import { describe, expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { Role } from '../../appliance/mail/roles.ts'
import type { NewInvitation, Storage, User } from '../../appliance/storage/storage.ts'
import { DAY, makeTeam, T0, unique } from './fixtures.ts'

const person = (): User => ({
  id: newId(T0),
  email: `${unique('person')}@people.example`,
  passwordHash: null,
  provenAt: null,
  createdAt: T0,
})

const invitation = (teamId: string, email: string, more: Partial<NewInvitation> = {}): NewInvitation => ({
  id: newId(T0),
  teamId,
  email,
  role: 'developer',
  invitedBy: null,
  tokenHash: unique('token'),
  mailedHash: unique('mailed'),
  createdAt: T0,
  expiresAt: T0 + 7 * DAY,
  ...more,
})

/** Adds a new user to a team. */
async function join(storage: Storage, teamId: string, role: Role): Promise<User> {
  const user = person()
  const invited = invitation(teamId, user.email, { role })
  await storage.invite({ invitation: invited, most: 10 }, T0)
  expect(await storage.acceptInvitation({ id: invited.id, who: { user } }, T0)).toBe('joined')
  return user
}

export function membersContract(storage: () => Storage): void {
  const rolesIn = async (teamId: string) =>
    (await storage().listMembers({ teamId }, T0)).map(({ role }) => role)

  describe('owners', () => {
    test('the last owner cannot be demoted or removed, but can be demoted once there is a second one', async () => {
      const { team, user } = await makeTeam(storage())
      const args = { teamId: team.id, userId: user.id, spareOwners: false }
      expect(await storage().setRole({ ...args, role: 'admin' }, T0)).toBe('last_owner')
      expect(await storage().removeMember(args, T0)).toBe('last_owner')
      await join(storage(), team.id, 'owner')
      expect(await storage().setRole({ ...args, role: 'admin' }, T0)).toBe('done')
      expect(await rolesIn(team.id)).toEqual(['owner', 'admin'])
    })

    test('only one of two owners who remove each other concurrently is removed', async () => {
      const { team, user } = await makeTeam(storage())
      const other = await join(storage(), team.id, 'owner')
      const remove = (userId: string) =>
        storage().removeMember({ teamId: team.id, userId, spareOwners: false }, T0)
      expect((await Promise.all([remove(user.id), remove(other.id)])).sort()).toEqual(['done', 'last_owner'])
    })

    test('owners are protected if requested; other members are not', async () => {
      const { team, user } = await makeTeam(storage())
      const viewer = await join(storage(), team.id, 'viewer')
      const args = { teamId: team.id, spareOwners: true, role: 'developer' } as const
      expect(await storage().setRole({ ...args, userId: user.id }, T0)).toBe('owner')
      expect(await storage().removeMember({ ...args, userId: user.id }, T0)).toBe('owner')
      expect(await storage().setRole({ ...args, userId: viewer.id }, T0)).toBe('done')
      expect(await storage().setRole({ ...args, userId: newId(T0) }, T0)).toBe('absent')
    })
  })

  test('a demoted owner loses only the invitations of owners they sent', async () => {
    const { team } = await makeTeam(storage())
    const [one, other] = [await join(storage(), team.id, 'owner'), await join(storage(), team.id, 'owner')]
    const sent = [
      invitation(team.id, 'one@people.example', { invitedBy: one.id, role: 'owner' }),
      invitation(team.id, 'two@people.example', { invitedBy: one.id, role: 'viewer' }),
      invitation(team.id, 'three@people.example', { invitedBy: other.id, role: 'owner' }),
    ]
    for (const each of sent) await storage().invite({ invitation: each, most: 10 }, T0)
    await storage().setRole({ teamId: team.id, userId: one.id, role: 'admin', spareOwners: false }, T0)
    const open = await storage().listInvitations({ teamId: team.id }, T0)
    expect(open.map(({ email }) => email).sort()).toEqual(['three@people.example', 'two@people.example'])
  })

  test('removing a member ends their sessions in that team and revokes the invitations they sent', async () => {
    const [here, there] = [await makeTeam(storage()), await makeTeam(storage())]
    const admin = await join(storage(), here.team.id, 'admin')
    const again = invitation(there.team.id, admin.email)
    await storage().invite({ invitation: again, most: 10 }, T0)
    await storage().acceptInvitation({ id: again.id, who: { userId: admin.id } }, T0)
    const hashes = [unique('s'), unique('s')]
    for (const [i, { team }] of [here, there].entries()) {
      const times = { createdAt: T0, expiresAt: T0 + DAY, lastSeenAt: T0, provedAt: T0 }
      const about = {
        id: newId(T0),
        method: 'password',
        strong: false,
        vouched: false,
        ip: null,
        userAgent: null,
      } as const
      const session = { ...times, ...about, tokenHash: hashes[i]!, teamId: team.id, userId: admin.id }
      await storage().createSession(session, T0)
    }
    const sent = invitation(here.team.id, 'friend@people.example', { invitedBy: admin.id })
    await storage().invite({ invitation: sent, most: 10 }, T0)
    await storage().removeMember({ teamId: here.team.id, userId: admin.id, spareOwners: true }, T0)
    const open = async (tokenHash: string) => (await storage().findSession({ tokenHash }, T0))?.team.id
    expect([await open(hashes[0]!), await open(hashes[1]!)]).toEqual([undefined, there.team.id])
    expect(await storage().listInvitations({ teamId: here.team.id }, T0)).toEqual([])
  })

  describe('an invitation', () => {
    test('an invitation is accepted once, even by two concurrent requests', async () => {
      const { team } = await makeTeam(storage())
      const invited = invitation(team.id, `${unique('new')}@people.example`)
      await storage().invite({ invitation: invited, most: 10 }, T0)
      const take = () =>
        storage().acceptInvitation(
          { id: invited.id, who: { user: { ...person(), email: invited.email } } },
          T0,
        )
      expect((await Promise.all([take(), take()])).sort()).toEqual(['absent', 'joined'])
      expect(await rolesIn(team.id)).toEqual(['owner', 'developer'])
    })

    test('an invitation is found by token and by address in any case, until it expires', async () => {
      const { team, user } = await makeTeam(storage())
      const email = `${unique('new')}@people.example`
      const invited = invitation(team.id, email, { invitedBy: user.id })
      await storage().invite({ invitation: invited, most: 10 }, T0)
      const { tokenHash, mailedHash, ...rest } = invited
      const found = { ...rest, teamName: team.name, invitedBy: user.email }
      expect(await storage().findInvitation({ tokenHash }, T0)).toEqual({ ...found, byMail: false })
      const mailed = { tokenHash: mailedHash! }
      expect(await storage().findInvitation(mailed, T0)).toEqual({ ...found, byMail: true })
      expect(await storage().openInvitations({ email: email.toUpperCase() }, T0)).toEqual([found])
      expect(await storage().findInvitation({ tokenHash }, T0 + 7 * DAY)).toBeUndefined()
      const late = { id: invited.id, who: { user: person() } }
      expect(await storage().acceptInvitation(late, T0 + 7 * DAY)).toBe('absent')
      expect(await storage().purgeInvitations({}, T0 + 7 * DAY)).toBeGreaterThan(0)
    })

    test('an invitation replaces an earlier one for the address, is not sent to members, and counts toward a limit', async () => {
      const { team, user } = await makeTeam(storage())
      const email = `${unique('new')}@people.example`
      const [first, second] = [invitation(team.id, email), invitation(team.id, email)]
      expect(await storage().invite({ invitation: first, most: 1 }, T0)).toBe('invited')
      expect(await storage().invite({ invitation: second, most: 1 }, T0)).toBe('invited')
      expect(await storage().findInvitation({ tokenHash: first.tokenHash }, T0)).toBeUndefined()
      const more = invitation(team.id, `${unique('new')}@people.example`)
      expect(await storage().invite({ invitation: more, most: 1 }, T0)).toBe('full')
      const member = invitation(team.id, user.email.toUpperCase())
      expect(await storage().invite({ invitation: member, most: 9 }, T0)).toBe('member')
    })

    test('an invitation cannot be revoked by another team, and creates no second user for an address in use', async () => {
      const [mine, other] = [await makeTeam(storage()), await makeTeam(storage())]
      const invited = invitation(mine.team.id, other.user.email)
      await storage().invite({ invitation: invited, most: 10 }, T0)
      const user = { ...person(), email: other.user.email }
      expect(await storage().acceptInvitation({ id: invited.id, who: { user } }, T0)).toBe('exists')
      expect(await storage().revokeInvitation({ teamId: other.team.id, id: invited.id }, T0)).toBe(false)
      expect(await storage().revokeInvitation({ teamId: mine.team.id, id: invited.id }, T0)).toBe(true)
    })
  })

  test('a session can switch only to a team of its user', async () => {
    const [mine, other] = [await makeTeam(storage()), await makeTeam(storage())]
    const second = { id: newId(T0), name: 'Second', createdAt: T0 }
    await storage().createTeam({ team: second, ownerId: mine.user.id }, T0)
    const tokenHash = unique('session')
    const times = { createdAt: T0, expiresAt: T0 + DAY, lastSeenAt: T0, provedAt: T0 }
    const about = {
      id: newId(T0),
      method: 'password',
      strong: false,
      vouched: false,
      ip: null,
      userAgent: null,
    } as const
    const session = { ...times, ...about, tokenHash, teamId: mine.team.id, userId: mine.user.id }
    await storage().createSession(session, T0)
    expect(await storage().switchTeam({ tokenHash, teamId: other.team.id }, T0)).toBe(false)
    expect(await storage().switchTeam({ tokenHash, teamId: second.id }, T0)).toBe(true)
    expect(await storage().findSession({ tokenHash }, T0)).toMatchObject({ team: second, role: 'owner' })
  })

  test('updates the name and security settings of a team', async () => {
    const { team } = await makeTeam(storage())
    expect(await storage().renameTeam({ id: team.id, name: 'Renamed' }, T0)).toBe(true)
    expect(await storage().setMfaRequired({ id: team.id, required: true }, T0)).toBe(true)
    const rules = { id: team.id, mode: 'block' } as const
    expect(await storage().setProviderRules(rules, T0)).toBe(true)
    expect(await storage().setProviderRules({ ...rules, id: newId(T0) }, T0)).toBe(false)
    const settings = { mfaRequired: true, plan: 'unlimited', providerRules: 'block' }
    const now = { ...team, name: 'Renamed', ...settings, members: 1 }
    expect(await storage().getTeam({ id: team.id }, T0)).toEqual(now)
    expect(await storage().listTeams({}, T0)).toContainEqual(now)
    expect(await storage().renameTeam({ id: newId(T0), name: 'Nobody' }, T0)).toBe(false)
  })
}
