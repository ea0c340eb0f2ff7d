import { describe, expect } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { NewInvitation, Storage, User } from '../../appliance/storage/storage.ts'
import { DAY, makeTeam, T0, unique } from './fixtures.ts'
import { sorted, type Racing } from './racing.ts'

const person = (email = `${unique('person')}@example.com`): User => ({
  id: newId(T0),
  email,
  passwordHash: null,
  provenAt: null,
  createdAt: T0,
})

const invitationOf = (teamId: string, email: string, more: Partial<NewInvitation> = {}): NewInvitation => ({
  id: newId(T0),
  teamId,
  email,
  role: 'viewer',
  invitedBy: null,
  tokenHash: unique('token'),
  mailedHash: unique('mailed'),
  createdAt: T0,
  expiresAt: T0 + DAY,
  ...more,
})

const most = 20

/** Creates a team with two owners. */
async function twoOwners(storage: Storage): Promise<{ teamId: string; owners: [string, string] }> {
  const { team, user } = await makeTeam(storage)
  const other = person()
  const invitation = invitationOf(team.id, other.email, { role: 'owner' })
  await storage.invite({ invitation, most }, T0)
  expect(await storage.acceptInvitation({ id: invitation.id, who: { user: other } }, T0)).toBe('joined')
  return { teamId: team.id, owners: [user.id, other.id] }
}

/** Races about members and invitations. */
export function racesOfTeams(race: Racing): void {
  describe('the last owner of a team', () => ownerRaces(race))
  describe('invitations', () => invitationRaces(race))
}

function ownerRaces(race: Racing): void {
  type Change = (teamId: string, userId: string) => (at: Storage) => Promise<string>
  const remove: Change = (teamId, userId) => (at) =>
    at.removeMember({ teamId, userId, spareOwners: false }, T0)
  const lower: Change = (teamId, userId) => (at) =>
    at.setRole({ teamId, userId, role: 'admin', spareOwners: false }, T0)
  const cases: [string, Change, Change][] = [
    ['two owners remove each other', remove, remove],
    ['two owners demote each other', lower, lower],
    ['one owner is removed while the other is demoted', remove, lower],
  ]
  for (const [name, first, second] of cases)
    race(`remains if ${name}`, async ({ storage, atOnce }) => {
      const { teamId, owners } = await twoOwners(storage)
      const answers = await atOnce(first(teamId, owners[0]), second(teamId, owners[1]))
      expect(sorted(answers)).toEqual(['done', 'last_owner'])
      const members = await storage.listMembers({ teamId }, T0)
      expect(members.filter(({ role }) => role === 'owner')).toHaveLength(1)
    })
}

function invitationRaces(race: Racing): void {
  race('an address has one invitation to a team', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const email = `${unique('guest')}@example.com`
    const invite = (at: Storage) => at.invite({ invitation: invitationOf(team.id, email), most }, T0)
    expect(await atOnce(invite, invite)).toEqual(['invited', 'invited'])
    expect(await storage.listInvitations({ teamId: team.id }, T0)).toHaveLength(1)
  })

  race('limits the invitations of a team', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const invite = (at: Storage) =>
      at.invite({ invitation: invitationOf(team.id, `${unique('guest')}@example.com`), most: 1 }, T0)
    expect(sorted(await atOnce(invite, invite))).toEqual(['full', 'invited'])
    expect(await storage.listInvitations({ teamId: team.id }, T0)).toHaveLength(1)
  })

  race('an invitation for an owner is not replaced by an admin’s', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const email = `${unique('guest')}@example.com`
    const [byOwner] = await atOnce(
      (at) => at.invite({ invitation: invitationOf(team.id, email, { role: 'owner' }), most }, T0),
      (at) => at.invite({ invitation: invitationOf(team.id, email), most, spareOwners: true }, T0),
    )
    expect(byOwner).toBe('invited')
    expect(await storage.listInvitations({ teamId: team.id }, T0)).toMatchObject([{ role: 'owner' }])
  })

  race('an invitation is accepted once', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const invitation = invitationOf(team.id, `${unique('guest')}@example.com`)
    await storage.invite({ invitation, most }, T0)
    const accept = (at: Storage) =>
      at.acceptInvitation({ id: invitation.id, who: { user: person(invitation.email) } }, T0)
    expect(sorted(await atOnce(accept, accept))).toEqual(['absent', 'joined'])
    expect(await storage.listMembers({ teamId: team.id }, T0)).toHaveLength(2)
  })

  race('an invitation is either accepted or revoked', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const user = person()
    const invitation = invitationOf(team.id, user.email)
    await storage.invite({ invitation, most }, T0)
    const answers = await atOnce(
      (at) => at.acceptInvitation({ id: invitation.id, who: { user } }, T0),
      (at) => at.revokeInvitation({ teamId: team.id, id: invitation.id }, T0),
    )
    expect(['joined,false', 'absent,true']).toContain(String(answers))
    const joined = (await storage.getMember({ teamId: team.id, userId: user.id }, T0)) !== undefined
    expect(joined).toBe(answers[0] === 'joined')
  })

  race('no invitation remains for a user who joined', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const user = person()
    const before = invitationOf(team.id, user.email)
    await storage.invite({ invitation: before, most }, T0)
    const answers = await atOnce(
      (at) => at.acceptInvitation({ id: before.id, who: { user } }, T0),
      (at) => at.invite({ invitation: invitationOf(team.id, user.email), most }, T0),
    )
    expect(['joined,member', 'absent,invited']).toContain(String(answers))
    const open = await storage.listInvitations({ teamId: team.id }, T0)
    expect(open).toHaveLength(answers[0] === 'joined' ? 0 : 1)
  })

  race('two invitations of one address to two teams create one user', async ({ storage, atOnce }) => {
    const [one, two] = [await makeTeam(storage), await makeTeam(storage)]
    const email = `${unique('guest')}@example.com`
    const invitations = [invitationOf(one.team.id, email), invitationOf(two.team.id, email)] as const
    for (const invitation of invitations) await storage.invite({ invitation, most }, T0)
    const accept =
      ({ id }: NewInvitation) =>
      (at: Storage) =>
        at.acceptInvitation({ id, who: { user: person(email) } }, T0)
    expect(sorted(await atOnce(accept(invitations[0]), accept(invitations[1])))).toEqual(['exists', 'joined'])
    expect((await storage.listUsers({}, T0)).filter((user) => user.email === email)).toHaveLength(1)
  })
}
