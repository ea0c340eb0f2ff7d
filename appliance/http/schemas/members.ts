import { Type, type Static } from 'typebox'
import { ROLES } from '../../mail/roles.ts'
import { Deleted, Id, kind, listOf, literals, Nullable, Timestamp } from '../../api/shared.ts'

const email = Type.String({ description: 'The address of the account.' })
const role = literals(ROLES, { description: "The person's permissions; see the table in docs/accounts.md." })

/** A person in the team. */
export const Member = Type.Object(
  {
    object: kind('member'),
    id: Id,
    email,
    role,
    has_second_factor: Type.Boolean({ description: 'Whether an authenticator app or a passkey is set up.' }),
    created_at: Timestamp,
  },
  { description: "A member of the team. The id is the user's id." },
)
export type Member = Static<typeof Member>

/** GET /members */
export const MemberList = listOf(Member, 'members')

/** PATCH /members/:id */
export const UpdateMember = Type.Object({ role }, { description: 'The new role.' })

/** DELETE /members/:id, DELETE /account/teams/:id */
export const MemberRemoved = Type.Object(
  { object: kind('member'), id: Id, deleted: Deleted },
  { description: 'The person is no longer in the team, and their sessions in it were ended.' },
)

/** Somebody may join. */
export const Invitation = Type.Object(
  {
    object: kind('invitation'),
    id: Id,
    email,
    role,
    invited_by: Nullable(Type.String(), {
      description: 'The address of the inviter; null: the command line, or a deleted user.',
    }),
    created_at: Timestamp,
    expires_at: Timestamp,
  },
  { description: 'A pending invitation.' },
)
export type Invitation = Static<typeof Invitation>

/** GET /invitations */
export const InvitationList = listOf(Invitation, 'invitations')

/** POST /invitations */
export const CreateInvitation = Type.Object(
  { email, role },
  { description: 'Whom to invite, and their role.' },
)

/** What a new invitation answers: the link is told once. */
export const InvitationCreated = Type.Object(
  {
    ...Invitation.properties,
    link: Type.String({ description: 'The link to accept it. Anyone with the link can accept. Shown once.' }),
    sent: Type.Boolean({ description: 'Whether it was also sent by email.' }),
    not_sent_because: Nullable(Type.String(), { description: 'Why no email was sent.' }),
  },
  { description: 'The invitation with its link.' },
)
export type InvitationCreated = Static<typeof InvitationCreated>

/** DELETE /invitations/:id */
export const InvitationRevoked = Type.Object(
  { object: kind('invitation'), id: Id, deleted: Deleted },
  { description: 'Its link no longer works.' },
)

const token = Type.String({ description: 'The part of the link after `#`.' })

/** POST /invitations/look */
export const LookAtInvitation = Type.Object({ token }, { description: 'The link of an invitation.' })

/** What a link leads to. */
export const InvitationSeen = Type.Object(
  {
    object: kind('invitation'),
    email,
    role,
    team: Type.Object(
      { name: Type.String({ description: 'Name of the team.' }) },
      { description: 'The team to join.' },
    ),
    has_account: Type.Boolean({
      description: 'There is an account with that address.',
    }),
    has_team: Type.Boolean({
      description:
        'The account has a team: sign in, then accept. An account without a team cannot sign in: accept with its password.',
    }),
    expires_at: Timestamp,
  },
  { description: 'An invitation, for anyone with its link.' },
)
export type InvitationSeen = Static<typeof InvitationSeen>

/** POST /invitations/accept */
export const AcceptInvitation = Type.Object(
  {
    token,
    password: Type.String({
      description:
        'For a new account: at least 10 characters, and not a common password. For an account without a team: its password.',
    }),
  },
  { description: 'Accepts an invitation without signing in.' },
)

/** POST /account/invitations */
export const JoinTeam = Type.Object({ token }, { description: 'Accepts an invitation while signed in.' })
