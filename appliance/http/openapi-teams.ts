/** What the document says of teams, their members and invitations. */
import type { OperationNotes } from './openapi-operations.ts'

const note = (id: string, summary: string, description: string, ...errors: string[]): OperationNotes => ({
  id,
  tag: 'Dashboard',
  summary,
  description: `${description} Not at the hosted service.`,
  ...(errors.length > 0 && { errors }),
})

/** For people in the dashboard; keys cannot use them. */
export const TEAMS: Record<string, OperationNotes> = {
  'GET /team': note('getTeam', 'Show the team', 'The one that the session looks at, with its rules.'),
  'PATCH /team': note('renameTeam', 'Rename the team', 'For owners.', '403'),
  'PATCH /team/security': note(
    'setTeamSecurity',
    'Set how members sign in',
    'For admins. Whoever asks for a second factor from everybody must have one.',
    ...['403', '409'],
  ),
  'GET /teams': note('listTeams', 'List one’s own teams', 'The one joined first comes first.'),
  'POST /teams': note(
    'createTeam',
    'Make another team',
    'For admins of the team that runs the server. Whoever makes it is its owner.',
    '403',
  ),
  'POST /session/team': note(
    'switchTeam',
    'Look at another team of one’s own',
    'From then on the session is in that team, with the role that the person has there.',
    '404',
  ),
  'DELETE /account/teams/:id': note(
    'leaveTeam',
    'Leave a team',
    'The sessions there end. The only owner cannot leave.',
    ...['404', '409'],
  ),
  'GET /members': note('listMembers', 'List the people in the team', 'Owners come first.'),
  'PATCH /members/:id': note(
    'updateMember',
    'Give somebody another role',
    'For admins; owners are made and changed by owners only. A team always keeps an owner.',
    ...['403', '404', '409'],
  ),
  'DELETE /members/:id': note(
    'removeMember',
    'Remove somebody from the team',
    'For admins. The sessions there end at once, and invitations that the person sent.',
    ...['403', '404', '409'],
  ),
  'GET /invitations': note(
    'listInvitations',
    'List invitations',
    'Those that can be accepted. For admins.',
    '403',
  ),
  'POST /invitations': note(
    'createInvitation',
    'Invite somebody',
    'Sends a mail with the link where the first team has a verified domain, and answers the link in any case. It holds for 7 days; another for the same address takes its place.',
    ...['403', '409', '429'],
  ),
  'DELETE /invitations/:id': note(
    'revokeInvitation',
    'Withdraw an invitation',
    'Its link ends at once.',
    '403',
    '404',
  ),
  'POST /invitations/look': note(
    'lookAtInvitation',
    'See what a link leads to',
    'For whoever holds the link.',
    ...['403', '429'],
  ),
  'POST /invitations/accept': note(
    'acceptInvitation',
    'Join a team with a new account',
    'Makes the account and signs in with a cookie. With an account that is in no team, its password is asked for, and then its second factor (202).',
    ...['403', '409', '429'],
  ),
  'POST /account/invitations': note(
    'joinTeam',
    'Join a team with one’s own account',
    'The invitation must be for the address that one is signed in with. The session is then in that team.',
    '403',
  ),
}
