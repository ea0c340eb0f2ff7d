import { Type, type Static } from 'typebox'
import { ROLES } from '../../mail/roles.ts'
import { Deleted, Id, kind, listOf, literals, Nullable, Timestamp } from './shared.ts'

const email = Type.String({ description: 'The address of the account.' })
const role = literals(ROLES, { description: 'What the person may do; docs/accounts.md has the table.' })

/** A person in the team. */
export const Member = Type.Object(
  {
    object: kind('member'),
    id: Id,
    email,
    role,
    has_second_factor: Type.Boolean({ description: 'Whether an app for codes or a passkey is set up.' }),
    created_at: Timestamp,
  },
  { description: 'A person in the team; the id is that of the person.' },
)
export type Member = Static<typeof Member>

/** GET /members */
export const MemberList = listOf(Member, 'members')

/** PATCH /members/:id */
export const UpdateMember = Type.Object({ role }, { description: 'Another role.' })

/** DELETE /members/:id, DELETE /account/teams/:id */
export const MemberRemoved = Type.Object(
  { object: kind('member'), id: Id, deleted: Deleted },
  { description: 'The person is in that team no more; the sessions there have ended.' },
)

/** Somebody may join. */
export const Invitation = Type.Object(
  {
    object: kind('invitation'),
    id: Id,
    email,
    role,
    invited_by: Nullable(Type.String(), {
      description: 'The address of who invited; null: the command line, or somebody who is gone.',
    }),
    created_at: Timestamp,
    expires_at: Timestamp,
  },
  { description: 'An invitation that was not accepted yet.' },
)
export type Invitation = Static<typeof Invitation>

/** GET /invitations */
export const InvitationList = listOf(Invitation, 'invitations')

/** POST /invitations */
export const CreateInvitation = Type.Object({ email, role }, { description: 'Who may join, as what.' })

/** What a new invitation answers: the link is told once. */
export const InvitationCreated = Type.Object(
  {
    ...Invitation.properties,
    link: Type.String({ description: 'Where it is accepted. Whoever has it can accept: it is told once.' }),
    sent: Type.Boolean({ description: 'Whether it went out by mail as well.' }),
    not_sent_because: Nullable(Type.String(), { description: 'Why no mail went out.' }),
  },
  { description: 'The invitation with its link.' },
)
export type InvitationCreated = Static<typeof InvitationCreated>

/** DELETE /invitations/:id */
export const InvitationRevoked = Type.Object(
  { object: kind('invitation'), id: Id, deleted: Deleted },
  { description: 'Its link leads nowhere any more.' },
)

const token = Type.String({ description: 'What stands behind the `#` of the link.' })

/** POST /invitations/look */
export const LookAtInvitation = Type.Object({ token }, { description: 'The link that somebody has.' })

/** What a link leads to. */
export const InvitationSeen = Type.Object(
  {
    object: kind('invitation'),
    email,
    role,
    team: Type.Object(
      { name: Type.String({ description: 'What the team is called.' }) },
      { description: 'The team to join.' },
    ),
    has_account: Type.Boolean({
      description: 'There is an account with that address.',
    }),
    has_team: Type.Boolean({
      description:
        'It is in a team: sign in, then accept. Without one nobody can sign in: accept with its password.',
    }),
    expires_at: Timestamp,
  },
  { description: 'An invitation, for whoever holds its link.' },
)
export type InvitationSeen = Static<typeof InvitationSeen>

/** POST /invitations/accept */
export const AcceptInvitation = Type.Object(
  {
    token,
    password: Type.String({
      description:
        'For the new account: 10 characters or more, and none of those that everybody tries first. Of an account that is in no team: its own.',
    }),
  },
  { description: 'Somebody joins who cannot sign in yet.' },
)

/** POST /account/invitations */
export const JoinTeam = Type.Object({ token }, { description: 'Somebody who is signed in joins.' })
