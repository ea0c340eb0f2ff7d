/** What the document says of teams, their members and invitations. */
import type { OperationNotes } from './openapi-operations.ts'

const note = (id: string, summary: string, description: string, ...errors: string[]): OperationNotes => ({
  id,
  tag: 'Dashboard',
  summary,
  description: `${description} Not part of the hosted API.`,
  ...(errors.length > 0 && { errors }),
})

/** For people in the dashboard; keys cannot use them. */
export const TEAMS: Record<string, OperationNotes> = {
  'GET /team': note('getTeam', 'Get the team', 'The current team of the session, with its rules.'),
  'PATCH /team': note('renameTeam', 'Rename the team', 'For owners.', '403'),
  'PATCH /team/security': note(
    'setTeamSecurity',
    'Set sign-in rules',
    'For admins. To require two-step sign-in for everyone, you must have a second step yourself.',
    ...['403', '409'],
  ),
  'GET /teams': note('listTeams', 'List your teams', 'The team you joined first comes first.'),
  'POST /teams': note(
    'createTeam',
    'Create a team',
    'For admins of the team that operates the server. The creator becomes its owner.',
    '403',
  ),
  'POST /session/team': note(
    'switchTeam',
    'Switch to another of your teams',
    'The session then belongs to that team, with your role there.',
    '404',
  ),
  'DELETE /account/teams/:id': note(
    'leaveTeam',
    'Leave a team',
    'Ends your sessions in it. The only owner cannot leave.',
    ...['404', '409'],
  ),
  'GET /members': note('listMembers', 'List team members', 'Owners first.'),
  'PATCH /members/:id': note(
    'updateMember',
    "Change a member's role",
    'For admins. Only owners can add or change owners. A team always keeps at least one owner.',
    ...['403', '404', '409'],
  ),
  'DELETE /members/:id': note(
    'removeMember',
    'Remove a team member',
    'For admins. Ends their sessions in the team and cancels the invitations they sent.',
    ...['403', '404', '409'],
  ),
  'GET /invitations': note('listInvitations', 'List invitations', 'Pending invitations. For admins.', '403'),
  'POST /invitations': note(
    'createInvitation',
    'Invite someone',
    'Sends the link by email if the first team has a verified domain, and always returns it. The link expires in 7 days. A new invitation for the same address replaces it.',
    ...['403', '409', '429'],
  ),
  'DELETE /invitations/:id': note(
    'revokeInvitation',
    'Withdraw an invitation',
    'Its link stops working immediately.',
    '403',
    '404',
  ),
  'POST /invitations/look': note(
    'lookAtInvitation',
    'Get an invitation by its link',
    'For anyone with the link.',
    ...['403', '429'],
  ),
  'POST /invitations/accept': note(
    'acceptInvitation',
    'Join a team with a new account',
    'Creates the account and signs in with a cookie. If an account without a team exists, requires its password, and then its second step (202).',
    ...['403', '409', '429'],
  ),
  'POST /account/invitations': note(
    'joinTeam',
    'Join a team with your account',
    'The invitation must be for the address you are signed in with. The session then belongs to that team.',
    '403',
  ),
}
