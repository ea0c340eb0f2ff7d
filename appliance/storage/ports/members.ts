/** Teams, who is in them as what, and who is invited. */
import type { Role } from '../../mail/roles.ts'
import type { Team, User } from './accounts.ts'

/** A person in a team. */
export interface Member {
  teamId: string
  userId: string
  email: string
  role: Role
  /** Since when, Unix milliseconds. */
  createdAt: number
  hasSecondFactor: boolean
}

/** A team with its rules. */
export interface TeamDetails extends Team {
  /** Members without a second factor may only do what is their own account's. */
  mfaRequired: boolean
  /** A name of config/plans.toml. */
  plan: string
  members: number
}

/** A team as one of its members sees it. */
export interface Membership extends Team {
  role: Role
}

/** Somebody may join. The token is in the link; only its SHA-256 is stored. */
export interface Invitation {
  id: string
  teamId: string
  teamName: string
  email: string
  role: Role
  /** The address of who invited; null: the command line, or somebody who is no user any more. */
  invitedBy: string | null
  createdAt: number
  expiresAt: number
}

/** An invitation, and by which of its links it was found. */
export interface FoundInvitation extends Invitation {
  /** By the one that only the mail held. */
  byMail: boolean
}

/** What is stored of a new invitation. */
export interface NewInvitation {
  id: string
  teamId: string
  email: string
  role: Role
  /** Id of a user; null: the command line. */
  invitedBy: string | null
  tokenHash: string
  /** Of the link that only the mail holds: whoever has it reads what is sent to that address. Null: none is mailed. */
  mailedHash: string | null
  createdAt: number
  expiresAt: number
}

/** last_owner: the team would have none · owner: owners were to be spared · absent: no such member */
export type MemberChange = 'done' | 'last_owner' | 'owner' | 'absent'

/** joined: a member now · member: was one before, with the role unchanged · absent: gone or expired · exists: that address is a user's */
export type Joining = 'joined' | 'member' | 'absent' | 'exists'

export interface MemberStorage {
  /** All teams, the oldest first. */
  listTeams(args: object, now: number): Promise<TeamDetails[]>
  getTeam(args: { id: string }, now: number): Promise<TeamDetails | undefined>
  /** The teams of a person, the one joined first before the others. */
  membershipsOf(args: { userId: string }, now: number): Promise<Membership[]>
  /** A team with its first owner, who is a user already. */
  createTeam(args: { team: Team; ownerId: string }, now: number): Promise<void>
  /** False when there is no such team. */
  renameTeam(args: { id: string; name: string }, now: number): Promise<boolean>
  setMfaRequired(args: { id: string; required: boolean }, now: number): Promise<boolean>
  /** Owners first, then by address. */
  listMembers(args: { teamId: string }, now: number): Promise<Member[]>
  getMember(args: { teamId: string; userId: string }, now: number): Promise<Member | undefined>
  /**
   * Changes a role. A team always keeps an owner. Who may invite nobody any more takes the invitations along,
   * who makes no owners any more those of owners.
   * @param args spareOwners: an owner is not touched
   */
  setRole(
    args: { teamId: string; userId: string; role: Role; spareOwners: boolean },
    now: number,
  ): Promise<MemberChange>
  /** Ends a membership with the sessions in that team and the invitations that the person sent. A team always keeps an owner. */
  removeMember(
    args: { teamId: string; userId: string; spareOwners: boolean },
    now: number,
  ): Promise<MemberChange>
  /**
   * Takes the place of an earlier invitation of that address to that team; `member` when it is a member's.
   * @param args most: open invitations of a team; `full` beyond
   */
  invite(
    args: { invitation: NewInvitation; most: number },
    now: number,
  ): Promise<'invited' | 'member' | 'full'>
  /** Those of a team that hold, the newest first. */
  listInvitations(args: { teamId: string }, now: number): Promise<Invitation[]>
  /** Those for an address, in any case of its letters, that hold. */
  openInvitations(args: { email: string }, now: number): Promise<Invitation[]>
  /** By either of its links. Undefined when it does not hold any more. */
  findInvitation(args: { tokenHash: string }, now: number): Promise<FoundInvitation | undefined>
  /** False when the team has none such. */
  revokeInvitation(args: { teamId: string; id: string }, now: number): Promise<boolean>
  /**
   * Makes a member of somebody invited, and the invitation is gone: of several callers exactly one joins. The caller has
   * seen that the person is the one with that address.
   * @param args who: a new user, who is stored in the same step, or the id of one
   */
  acceptInvitation(
    args: { id: string; who: { user: User } | { userId: string } },
    now: number,
  ): Promise<Joining>
  /** Removes expired ones; returns how many. */
  purgeInvitations(args: object, now: number): Promise<number>
  /** Moves a session to another team of its person; false when that is none of theirs. */
  switchTeam(args: { tokenHash: string; teamId: string }, now: number): Promise<boolean>
}
