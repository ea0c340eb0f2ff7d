/** What the document says of one's own account. */
import type { OperationNotes } from './openapi-operations.ts'

/** Passwords and sessions. */
export const ACCOUNT: Record<string, OperationNotes> = {
  'POST /session/reset': {
    id: 'askReset',
    tag: 'Dashboard',
    summary: 'Request a password reset',
    description:
      'Sends a reset link to the address if it has an account. The response is the same either way. At most three emails to one address in 15 minutes. Not part of the hosted API.',
    errors: ['403', '429'],
  },
  'POST /session/reset/confirm': {
    id: 'confirmReset',
    tag: 'Dashboard',
    summary: 'Set a new password with a reset link',
    description:
      'Ends all sessions of the user. Second steps are unchanged. The link works once and expires in 30 minutes. Not part of the hosted API.',
    errors: ['403', '429'],
  },
  'POST /account/password': {
    id: 'changePassword',
    tag: 'Dashboard',
    summary: 'Change your password',
    description:
      'Ends all your other sessions. Limited to five attempts per minute. Not part of the hosted API.',
    errors: ['403', '409', '429'],
  },
  'GET /account/sessions': {
    id: 'listAccountSessions',
    tag: 'Dashboard',
    summary: 'List your sessions',
    description: 'Most recently used first. Not part of the hosted API.',
  },
  'DELETE /account/sessions/:id': {
    id: 'endAccountSession',
    tag: 'Dashboard',
    summary: 'End one of your sessions',
    description: 'Not part of the hosted API.',
  },
  'DELETE /account/sessions': {
    id: 'endAccountSessions',
    tag: 'Dashboard',
    summary: 'End all your other sessions',
    description: 'Not part of the hosted API.',
  },
}
