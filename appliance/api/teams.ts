import type { Static } from 'typebox'
import { ROLES } from '../mail/roles.ts'
import type { Membership, TeamDetails } from '../storage/storage.ts'
import { boolean, integer, kind, literals, object, string } from './schemas.ts'
import { Id, listOf, Timestamp } from './shared.ts'
import { Session } from './session.ts'
import { MemberRemoved } from './members.ts'
import { operationsIn } from './operation.ts'
import { byId } from './parameters.ts'
import { timestamp } from './timestamp.ts'

const name = string('Name of the team: 1 to 100 characters.')

/** A team with its sign-in rules. */
export const Team = object('A team, which owns domains, keys and mail.', {
  object: kind('team'),
  id: Id,
  name,
  plan: string('Its sending plan.', { examples: ['unlimited'] }),
  mfa_required: boolean('Members without a second step can only set one up.'),
  members: integer('Number of members.'),
  created_at: Timestamp,
})
export type Team = Static<typeof Team>

export const UpdateTeam = object('The new name of the team.', { name })

export const UpdateTeamSecurity = object('Sign-in rules of the team.', {
  mfa_required: boolean('Whether its members need a second step.'),
})

export const CreateTeam = object('A new team.', { name })

/** A team of the signed-in user, with their role. */
export const OwnTeam = object("One of the user's teams.", {
  object: kind('team'),
  id: Id,
  name,
  role: literals(ROLES, "The user's role in it."),
  created_at: Timestamp,
})
type OwnTeam = Static<typeof OwnTeam>

export const OwnTeamList = listOf(OwnTeam, 'teams')

export const SwitchTeam = object('The team to switch to.', { team_id: Id })

const operation = operationsIn('Dashboard')

export const getTeam = operation('GET /team', {
  access: 'people',
  summary: 'Get the team',
  description: 'The current team of the session, with its rules. Not part of the hosted API.',
  response: { 200: Team },
})
export const renameTeam = operation('PATCH /team', {
  access: 'people',
  summary: 'Rename the team',
  description: 'For owners. Not part of the hosted API.',
  body: UpdateTeam,
  response: { 200: Team },
  errors: ['403'],
})
export const setTeamSecurity = operation('PATCH /team/security', {
  access: 'people',
  summary: 'Set sign-in rules',
  description:
    'For admins. To require two-step sign-in for everyone, you must have a second step yourself. Not part of the hosted API.',
  body: UpdateTeamSecurity,
  response: { 200: Team },
  errors: ['403', '409'],
})
export const listTeams = operation('GET /teams', {
  access: 'people',
  summary: 'List your teams',
  description: 'The team you joined first comes first. Not part of the hosted API.',
  response: { 200: OwnTeamList },
})
export const createTeam = operation('POST /teams', {
  access: 'people',
  summary: 'Create a team',
  description:
    'For admins of the team that operates the server. The creator becomes its owner. Not part of the hosted API.',
  body: CreateTeam,
  response: { 201: OwnTeam },
  errors: ['403'],
})
export const switchTeam = operation('POST /session/team', {
  access: 'people',
  summary: 'Switch to another of your teams',
  description: 'The session then belongs to that team, with your role there. Not part of the hosted API.',
  body: SwitchTeam,
  response: { 200: Session },
  errors: ['404'],
})
export const leaveTeam = operation('DELETE /account/teams/:id', {
  access: 'people',
  summary: 'Leave a team',
  description: 'Ends your sessions in it. The only owner cannot leave. Not part of the hosted API.',
  params: byId,
  response: { 200: MemberRemoved },
  errors: ['404', '409'],
})

/** Formats a team with its sign-in rules. */
export function presentTeam(team: TeamDetails): Team {
  return {
    object: 'team',
    id: team.id,
    name: team.name,
    plan: team.plan,
    mfa_required: team.mfaRequired,
    members: team.members,
    created_at: timestamp(team.createdAt),
  }
}

/** Formats a team for one of its members. */
export function presentOwnTeam({ id, name, role, createdAt }: Membership): OwnTeam {
  return { object: 'team', id, name, role, created_at: timestamp(createdAt) }
}
