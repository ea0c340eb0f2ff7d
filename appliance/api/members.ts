import { Type, type Static } from 'typebox'
import { ROLES } from '../mail/roles.ts'
import type { Invitation as StoredInvitation, Member as StoredMember } from '../storage/storage.ts'
import { boolean, kind, literals, Nullable, object, string } from './schemas.ts'
import { Deleted, Id, listOf, Timestamp } from './shared.ts'
import { Session, SignInStep } from './session.ts'
import { operationsIn } from './operation.ts'
import { byId } from './parameters.ts'
import { timestamp } from './timestamp.ts'

const email = string('The address of the account.')
const role = literals(ROLES, "The person's permissions; see the table in docs/accounts.md.")

/** A member of the team. */
export const Member = object("A member of the team. The id is the user's id.", {
  object: kind('member'),
  id: Id,
  email,
  role,
  has_second_factor: boolean('Whether an authenticator app or a passkey is set up.'),
  created_at: Timestamp,
})
export type Member = Static<typeof Member>

export const MemberList = listOf(Member, 'members')

export const UpdateMember = object('The new role.', { role })

export const MemberRemoved = object(
  'The person is no longer in the team, and their sessions in it were ended.',
  { object: kind('member'), id: Id, deleted: Deleted },
)

/** A pending invitation. */
export const Invitation = object('A pending invitation.', {
  object: kind('invitation'),
  id: Id,
  email,
  role,
  invited_by: Nullable(
    Type.String(),
    'The address of the inviter; null: the command line, or a deleted user.',
  ),
  created_at: Timestamp,
  expires_at: Timestamp,
})
export type Invitation = Static<typeof Invitation>

export const InvitationList = listOf(Invitation, 'invitations')

export const CreateInvitation = object('Whom to invite, and their role.', { email, role })

/** The response with a new invitation, the only one with its link. */
export const InvitationCreated = object('The invitation with its link.', {
  ...Invitation.properties,
  link: string('The link to accept it. Anyone with the link can accept. Shown once.'),
  sent: boolean('Whether it was also sent by email.'),
  not_sent_because: Nullable(Type.String(), 'Why no email was sent.'),
})
export type InvitationCreated = Static<typeof InvitationCreated>

export const InvitationRevoked = object('Its link no longer works.', {
  object: kind('invitation'),
  id: Id,
  deleted: Deleted,
})

const token = string('The part of the link after `#`.')

export const ViewInvitation = object('The link of an invitation.', { token })

/** The invitation behind a link. */
export const InvitationView = object('An invitation, for anyone with its link.', {
  object: kind('invitation'),
  email,
  role,
  team: object('The team to join.', { name: string('Name of the team.') }),
  has_account: boolean('There is an account with that address.'),
  has_team: boolean(
    'The account has a team: sign in, then accept. An account without a team cannot sign in: accept with its password.',
  ),
  expires_at: Timestamp,
})
export type InvitationView = Static<typeof InvitationView>

export const AcceptInvitation = object('Accepts an invitation without signing in.', {
  token,
  password: string(
    'For a new account: at least 10 characters, and not a common password. For an account without a team: its password.',
  ),
})

export const JoinTeam = object('Accepts an invitation while signed in.', { token })

const operation = operationsIn('Dashboard')

export const listMembers = operation('GET /members', {
  access: 'people',
  summary: 'List team members',
  description: 'Owners first. Not part of the hosted API.',
  response: { 200: MemberList },
})
export const updateMember = operation('PATCH /members/:id', {
  access: 'people',
  summary: "Change a member's role",
  description:
    'For admins. Only owners can add or change owners. A team always keeps at least one owner. Not part of the hosted API.',
  params: byId,
  body: UpdateMember,
  response: { 200: Member },
  errors: ['403', '404', '409'],
})
export const removeMember = operation('DELETE /members/:id', {
  access: 'people',
  summary: 'Remove a team member',
  description:
    'For admins. Ends their sessions in the team and cancels the invitations they sent. Not part of the hosted API.',
  params: byId,
  response: { 200: MemberRemoved },
  errors: ['403', '404', '409'],
})
export const listInvitations = operation('GET /invitations', {
  access: 'people',
  summary: 'List invitations',
  description: 'Pending invitations. For admins. Not part of the hosted API.',
  response: { 200: InvitationList },
  errors: ['403'],
})
export const createInvitation = operation('POST /invitations', {
  access: 'people',
  summary: 'Invite someone',
  description:
    'Sends the link by email if the first team has a verified domain, and always returns it. The link expires in 7 days. A new invitation for the same address replaces it. Not part of the hosted API.',
  body: CreateInvitation,
  response: { 201: InvitationCreated },
  errors: ['403', '409', '429'],
})
export const revokeInvitation = operation('DELETE /invitations/:id', {
  access: 'people',
  summary: 'Withdraw an invitation',
  description: 'Its link stops working immediately. Not part of the hosted API.',
  params: byId,
  response: { 200: InvitationRevoked },
  errors: ['403', '404'],
})
export const lookAtInvitation = operation('POST /invitations/look', {
  access: 'public',
  summary: 'Get an invitation by its link',
  description: 'For anyone with the link. Not part of the hosted API.',
  body: ViewInvitation,
  response: { 200: InvitationView },
  errors: ['403', '429'],
})
export const acceptInvitation = operation('POST /invitations/accept', {
  access: 'public',
  summary: 'Join a team with a new account',
  description:
    'Creates the account and signs in with a cookie. If an account without a team exists, requires its password, and then its second step (202). Not part of the hosted API.',
  body: AcceptInvitation,
  response: { 200: Session, 202: SignInStep },
  errors: ['403', '409', '429'],
})
export const joinTeam = operation('POST /account/invitations', {
  access: 'people',
  summary: 'Join a team with your account',
  description:
    'The invitation must be for the address you are signed in with. The session then belongs to that team. Not part of the hosted API.',
  body: JoinTeam,
  response: { 200: Session },
  errors: ['403'],
})

/** Formats a member. */
export function presentMember({ userId, email, role, hasSecondFactor, createdAt }: StoredMember): Member {
  return {
    object: 'member',
    id: userId,
    email,
    role,
    has_second_factor: hasSecondFactor,
    created_at: timestamp(createdAt),
  }
}

/** Formats a pending invitation, without its link. */
export function presentInvitation(invitation: StoredInvitation): Invitation {
  return {
    object: 'invitation',
    id: invitation.id,
    email: invitation.email,
    role: invitation.role,
    invited_by: invitation.invitedBy,
    created_at: timestamp(invitation.createdAt),
    expires_at: timestamp(invitation.expiresAt),
  }
}
