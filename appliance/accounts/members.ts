/**
 * Manages members, roles and invitations. mail/roles.ts defines what a role may do; the rules about owners are here.
 */
import type { Clock } from '../clock/clock.ts'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import { ROLES, type Role } from '../mail/roles.ts'
import type {
  FoundInvitation,
  Invitation,
  Member,
  MemberChangeResult,
  Storage,
  User,
} from '../storage/storage.ts'
import type { Hasher } from './hasher.ts'
import { normalizeEmail } from './sign-in.ts'
import { hashToken, isToken, newToken } from './tokens.ts'

/** How long an invitation is valid, in milliseconds: long enough to survive a short holiday. */
const INVITATION_LIFETIME = 7 * 24 * 3_600_000

/** Maximum number of pending invitations of a team, so that a stolen session can't be used to send bulk mail. */
const MOST_INVITATIONS = 100

/** The person who acts in a team. The command line acts as an owner without a user. */
export interface TeamActor {
  userId: string | null
  role: Role
}

/** The actor for the command line. */
export const OPERATOR: TeamActor = { userId: null, role: 'owner' }

export interface Members {
  listMembers(args: { teamId: string }): Promise<Member[]>
  listInvitations(args: { teamId: string }): Promise<Invitation[]>
  /**
   * Invites someone; replaces an earlier invitation of that address. Both tokens are for links, and are returned only
   * once: `token` is shown to the inviting person, and `mailed` is only sent to that address, because its use proves
   * that the person owns the address. Refuses: `invalid_field` (email), `member_already`, `owners_only`,
   * `too_many_invitations`.
   */
  invite(args: {
    teamId: string
    email: string
    role: Role
    by: TeamActor
  }): Promise<{ invitation: Invitation; token: string; mailed: string }>
  /** Revokes a pending invitation. Refuses: `not_found`, `owners_only`. */
  revokeInvitation(args: { teamId: string; id: string; by: TeamActor }): Promise<void>
  /**
   * Returns the invitation that a link is for, and whether its address has an account with a team. Refuses:
   * `invitation_over`.
   */
  viewInvitation(args: {
    token: string
  }): Promise<{ invitation: Invitation; hasAccount: boolean; hasTeam: boolean }>
  /**
   * Accepts an invitation without a session. Creates an account with this password; an existing account without a team
   * needs its own password, because the inviting person has the link, too. Refuses: `invitation_over`,
   * `invitation_needs_sign_in`, `invalid_field` (password), `wrong_password`, `too_many_attempts`.
   */
  acceptByPassword(args: { token: string; password: string }): Promise<{ user: User; invitation: Invitation }>
  /** Accepts an invitation as the signed-in user. Refuses: `invitation_over`, `invitation_for_other`. */
  acceptAsUser(args: { token: string; user: Pick<User, 'id' | 'email'> }): Promise<Invitation>
  /** Changes a member's role. Refuses: `not_found`, `last_owner`, `owners_only`. */
  setRole(args: { teamId: string; userId: string; role: Role; by: TeamActor }): Promise<Member>
  /** Removes a member and ends their sessions in the team. Refuses: `not_found`, `last_owner`, `owners_only`. */
  removeMember(args: { teamId: string; userId: string; by: TeamActor }): Promise<void>
  /** Removes the requesting user from the team. Refuses: `not_found`, `last_owner`. */
  leave(args: { teamId: string; userId: string }): Promise<void>
}

/** Dependencies. */
export interface MembersDeps {
  storage: Storage
  clock: Clock
  hasher: Hasher
  /** Refuses unacceptable passwords; `field` is the name of the caller's field. */
  acceptable: (password: string, field: string, ...names: string[]) => void
}

/** Checks that only owners grant the owner role. */
function mayGive(by: TeamActor, role: Role): void {
  if (role === 'owner' && by.role !== 'owner') throw refuse('owners_only')
}

function obey(change: MemberChangeResult): void {
  if (change === 'absent') throw refuse('not_found', { resource: 'Member' })
  if (change === 'last_owner') throw refuse('last_owner')
  if (change === 'owner') throw refuse('owners_only')
}

/** Normalizes an address for an account. Refuses: `invalid_field` (email). */
function accountAddress(typed: string): string {
  const email = normalizeEmail(typed)
  if (email.length > 254 || !/^[^\s@]+@[^\s@]+$/.test(email))
    throw refuse('invalid_field', { field: 'email', expected: 'an address such as you@example.com' })
  return email
}

/** Creates the methods. */
export function createMembers(deps: MembersDeps): Members {
  const { storage, clock } = deps
  return {
    listMembers: (args) => storage.listMembers(args, clock.now()),
    ...invitations(deps),

    async setRole({ teamId, userId, role, by }) {
      mayGive(by, role)
      const spareOwners = by.role !== 'owner'
      obey(await storage.setRole({ teamId, userId, role, spareOwners }, clock.now()))
      const member = await storage.getMember({ teamId, userId }, clock.now())
      if (!member) throw refuse('not_found', { resource: 'Member' })
      return member
    },

    async removeMember({ teamId, userId, by }) {
      const spareOwners = by.role !== 'owner'
      obey(await storage.removeMember({ teamId, userId, spareOwners }, clock.now()))
    },

    async leave({ teamId, userId }) {
      obey(await storage.removeMember({ teamId, userId, spareOwners: false }, clock.now()))
    },
  }
}

type InvitationMethods = Pick<
  Members,
  'listInvitations' | 'invite' | 'revokeInvitation' | 'viewInvitation' | 'acceptByPassword' | 'acceptAsUser'
>

function invitations(deps: MembersDeps): InvitationMethods {
  const { storage, clock } = deps
  return {
    listInvitations: (args) => storage.listInvitations(args, clock.now()),

    invite: (args) => invite(args, deps),

    async revokeInvitation({ teamId, id, by }) {
      const open = await storage.listInvitations({ teamId }, clock.now())
      const one = open.find((invitation) => invitation.id === id)
      if (one) mayGive(by, one.role)
      if (!one || !(await storage.revokeInvitation({ teamId, id }, clock.now())))
        throw refuse('not_found', { resource: 'Invitation' })
    },

    async viewInvitation({ token }) {
      const invitation = await find(token, deps)
      const user = await storage.findUser({ email: invitation.email }, clock.now())
      const hasTeam = user !== undefined && (await isInTeam(user, deps))
      return { invitation, hasAccount: user !== undefined, hasTeam }
    },

    async acceptByPassword({ token, password }) {
      const invitation = await find(token, deps)
      const known = await storage.findUser({ email: invitation.email }, clock.now())
      const user = known
        ? await acceptAgain(invitation, { user: known, password }, deps)
        : await acceptAsNew(invitation, password, deps)
      return { user, invitation }
    },

    async acceptAsUser({ token, user }) {
      const invitation = await find(token, deps)
      if (normalizeEmail(invitation.email) !== normalizeEmail(user.email))
        throw refuse('invitation_for_other')
      const { id } = invitation
      const joined = await storage.acceptInvitation({ id, who: { userId: user.id } }, clock.now())
      if (joined === 'absent') throw refuse('invitation_over')
      return invitation
    },
  }
}

async function find(token: string, { storage, clock }: MembersDeps): Promise<FoundInvitation> {
  const tokenHash = hashToken(token)
  const found = isToken(token) ? await storage.findInvitation({ tokenHash }, clock.now()) : undefined
  if (!found) throw refuse('invitation_over')
  return found
}

async function invite(
  { teamId, email: typed, role, by }: Parameters<Members['invite']>[0],
  { storage, clock }: MembersDeps,
): ReturnType<Members['invite']> {
  const email = accountAddress(typed)
  mayGive(by, role)
  const now = clock.now()
  const [token, mailed] = [newToken(), newToken()]
  const hashes = { tokenHash: hashToken(token), mailedHash: hashToken(mailed) }
  const about = { teamId, email, role, invitedBy: by.userId, ...hashes }
  const invitation = { ...about, id: newId(now), createdAt: now, expiresAt: now + INVITATION_LIFETIME }
  // Otherwise an admin could replace an owner's invitation.
  const spareOwners = by.role !== 'owner'
  const result = await storage.invite({ invitation, most: MOST_INVITATIONS, spareOwners }, now)
  if (result === 'owner') throw refuse('owners_only')
  if (result === 'member') throw refuse('member_already')
  if (result === 'full') throw refuse('too_many_invitations', { limit: MOST_INVITATIONS })
  const stored = await storage.findInvitation({ tokenHash: invitation.tokenHash }, now)
  if (!stored) throw refuse('invitation_over')
  return { invitation: stored, token, mailed }
}

const isInTeam = async ({ id }: Pick<User, 'id'>, { storage, clock }: MembersDeps): Promise<boolean> =>
  (await storage.teamToEnter({ userId: id }, clock.now())) !== undefined

/** Accepts an invitation for a person whose account has no team, and who therefore can't sign in first. */
async function acceptAgain(
  { id }: Invitation,
  { user, password }: { user: User; password: string },
  deps: MembersDeps,
): Promise<User> {
  const { storage, clock, hasher } = deps
  if (await isInTeam(user, deps)) throw refuse('invitation_needs_sign_in')
  if (!(await hasher.verify(user.passwordHash, password)))
    throw refuse('wrong_password', { field: 'password' })
  const joined = await storage.acceptInvitation({ id, who: { userId: user.id } }, clock.now())
  if (joined === 'absent') throw refuse('invitation_over')
  return user
}

async function acceptAsNew(
  { id, email, teamName, byMail }: FoundInvitation,
  password: string,
  { storage, clock, hasher, acceptable }: MembersDeps,
): Promise<User> {
  acceptable(password, 'password', email, teamName)
  const passwordHash = await hasher.hash(password)
  const now = clock.now()
  const user: User = { id: newId(now), email, passwordHash, createdAt: now, provenAt: byMail ? now : null }
  const joined = await storage.acceptInvitation({ id, who: { user } }, now)
  if (joined === 'exists') throw refuse('invitation_needs_sign_in')
  if (joined === 'absent') throw refuse('invitation_over')
  return user
}

/** Parses a role. Refuses: `invalid_field` (role). */
export function parseRole(name: string): Role {
  const role = ROLES.find((one) => one === name)
  if (!role) throw refuse('invalid_field', { field: 'role', expected: `one of ${ROLES.join(', ')}` })
  return role
}
