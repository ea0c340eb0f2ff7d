/** What the document says of one's own account. */
import type { OperationNotes } from './openapi-operations.ts'

/** Passwords and sessions. */
export const ACCOUNT: Record<string, OperationNotes> = {
  'POST /session/reset': {
    id: 'askReset',
    tag: 'Dashboard',
    summary: 'Ask for a new password',
    description:
      'Sends a link to the address when somebody has it; the answer is the same in both cases. Three mails to one address in a quarter of an hour. Not at the hosted service.',
    errors: ['403', '429'],
  },
  'POST /session/reset/confirm': {
    id: 'confirmReset',
    tag: 'Dashboard',
    summary: 'Set a new password with a link',
    description:
      'All sessions of the person end; second factors stay. The link works once, within 30 minutes. Not at the hosted service.',
    errors: ['403', '429'],
  },
  'POST /account/password': {
    id: 'changePassword',
    tag: 'Dashboard',
    summary: 'Change one’s own password',
    description: 'All other sessions of the person end. Five tries a minute. Not at the hosted service.',
    errors: ['403', '409', '429'],
  },
  'GET /account/sessions': {
    id: 'listAccountSessions',
    tag: 'Dashboard',
    summary: 'List where one is signed in',
    description: 'The session used last first. Not at the hosted service.',
  },
  'DELETE /account/sessions/:id': {
    id: 'endAccountSession',
    tag: 'Dashboard',
    summary: 'End a session of one’s own',
    description: 'Not at the hosted service.',
  },
  'DELETE /account/sessions': {
    id: 'endAccountSessions',
    tag: 'Dashboard',
    summary: 'End all other sessions of one’s own',
    description: 'Not at the hosted service.',
  },
}
