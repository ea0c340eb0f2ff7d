/** API calls for teams, members and invitations. */
import type { Static } from 'typebox'
import type {
  CreateInvitation,
  InvitationCreated,
  InvitationList,
  InvitationView,
  MemberList,
  UpdateMember,
} from '../../../appliance/api/members.ts'
import type { Session, SignInStep } from '../../../appliance/api/session.ts'
import type { OwnTeam, Team } from '../../../appliance/api/teams.ts'
import { change, postQuery, read } from './client.ts'

const id = encodeURIComponent

export const getTeam = (signal?: AbortSignal) => read<Team>('/team', signal)

export const renameTeam = (name: string) => change<Team>('PATCH', '/team', { name })

export const requireSecondFactor = (required: boolean) =>
  change<Team>('PATCH', '/team/security', { mfa_required: required })

export const createTeam = (name: string) => change<Static<typeof OwnTeam>>('POST', '/teams', { name })

export const switchTeam = (team: string) => change<Session>('POST', '/session/team', { team_id: team })

export const leaveTeam = (team: string) => change<unknown>('DELETE', `/account/teams/${id(team)}`)

export const listMembers = (signal?: AbortSignal) => read<Static<typeof MemberList>>('/members', signal)

export const updateMember = (member: string, body: Static<typeof UpdateMember>) =>
  change<unknown>('PATCH', `/members/${id(member)}`, body)

export const removeMember = (member: string) => change<unknown>('DELETE', `/members/${id(member)}`)

export const listInvitations = (signal?: AbortSignal) =>
  read<Static<typeof InvitationList>>('/invitations', signal)

export const createInvitation = (body: Static<typeof CreateInvitation>) =>
  change<InvitationCreated>('POST', '/invitations', body)

export const revokeInvitation = (invitation: string) =>
  change<unknown>('DELETE', `/invitations/${id(invitation)}`)

export const viewInvitation = (token: string) => postQuery<InvitationView>('/invitations/look', { token })

export const acceptInvitation = (token: string, password: string) =>
  change<Session | SignInStep>('POST', '/invitations/accept', { token, password })

export const joinTeam = (token: string) => change<Session>('POST', '/account/invitations', { token })
