import { Type, type Static } from 'typebox'
import { boolean, integer, kind, Nullable, object, string } from './schemas.ts'
import { Deleted, Id, listOf, Timestamp } from './shared.ts'
import { operationsIn } from './operation.ts'
import { byId } from './parameters.ts'

export const ChangePassword = object('A new password for your own account.', {
  current: string('The current password.'),
  new: string('The new password: at least 10 characters, and not a common password.'),
})

/** The response to changing the password. */
export const PasswordChanged = object(
  'The password was changed, and all other sessions of the user were ended.',
  {
    object: kind('password'),
    changed: Type.Literal(true, { description: 'Always true: effective immediately.' }),
  },
)

export const RequestReset = object('The user who forgot the password.', {
  email: string('The address of the account.'),
})

/** The response to a request for a reset link, the same whether the account exists or not. */
export const ResetRequested = object('If an account with that address exists, a reset link is being sent.', {
  object: kind('password_reset'),
  minutes: integer('Minutes until the link expires.'),
})

export const ConfirmReset = object('A new password, set with a reset link.', {
  token: string('The part of the link after `#`.'),
  password: string('The new password: at least 10 characters, and not a common password.'),
})

/** The response to a reset. */
export const ResetConfirmed = object(
  'The password was set, and all sessions of the user were ended. Second steps are unchanged.',
  {
    object: kind('password_reset'),
    email: string('The address to sign in with.'),
  },
)

/** A signed-in browser. */
export const AccountSession = object('A session of the user.', {
  object: kind('account_session'),
  id: Id,
  created_at: Timestamp,
  last_seen_at: string('When it was last used, accurate to ten minutes.'),
  expires_at: Timestamp,
  ip: Nullable(Type.String(), 'IP address of the sign-in.'),
  browser: Nullable(Type.String(), 'Browser and operating system; null: unknown.'),
  method: string('How the user signed in: `password`, `passkey`, or `oidc:` and the identity provider.', {
    examples: ['password'],
  }),
  strong: boolean('Whether a second step was completed.'),
  current: boolean('Whether this is the session of the request.'),
})
export type AccountSession = Static<typeof AccountSession>

export const AccountSessionList = listOf(AccountSession, 'sessions')

export const AccountSessionEnded = object('The session was ended.', {
  object: kind('account_session'),
  id: Id,
  deleted: Deleted,
})

export const AccountSessionsEnded = object('All other sessions of the user were ended.', {
  object: kind('account_session'),
  deleted: integer('Number of sessions that were ended.'),
})

const operation = operationsIn('Dashboard')

export const askReset = operation('POST /session/reset', {
  access: 'public',
  summary: 'Request a password reset',
  description:
    'Sends a reset link to the address if it has an account. The response is the same either way. At most three emails to one address in 15 minutes. Not part of the hosted API.',
  body: RequestReset,
  response: { 200: ResetRequested },
  errors: ['403', '429'],
})
export const confirmReset = operation('POST /session/reset/confirm', {
  access: 'public',
  summary: 'Set a new password with a reset link',
  description:
    'Ends all sessions of the user. Second steps are unchanged. The link works once and expires in 30 minutes. Not part of the hosted API.',
  body: ConfirmReset,
  response: { 200: ResetConfirmed },
  errors: ['403', '429'],
})
export const changePassword = operation('POST /account/password', {
  access: 'people',
  summary: 'Change your password',
  description:
    'Ends all your other sessions. Limited to five attempts per minute. Not part of the hosted API.',
  body: ChangePassword,
  response: { 200: PasswordChanged },
  errors: ['403', '409', '429'],
})
export const listAccountSessions = operation('GET /account/sessions', {
  access: 'people',
  summary: 'List your sessions',
  description: 'Most recently used first. Not part of the hosted API.',
  response: { 200: AccountSessionList },
})
export const endAccountSession = operation('DELETE /account/sessions/:id', {
  access: 'people',
  summary: 'End one of your sessions',
  description: 'Not part of the hosted API.',
  params: byId,
  response: { 200: AccountSessionEnded },
})
export const endAccountSessions = operation('DELETE /account/sessions', {
  access: 'people',
  summary: 'End all your other sessions',
  description: 'Not part of the hosted API.',
  response: { 200: AccountSessionsEnded },
})
