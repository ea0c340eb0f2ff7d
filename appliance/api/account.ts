import { Type, type Static } from 'typebox'
import { Deleted, Id, kind, listOf, Nullable, Timestamp } from './shared.ts'
import { operationsIn } from './operation.ts'
import { path, pathId } from './parameters.ts'

const password = (description: string) => Type.String({ description })

/** POST /account/password */
export const ChangePassword = Type.Object(
  {
    current: password('The current password.'),
    new: password('The new password: at least 10 characters, and not a common password.'),
  },
  { description: 'A new password for your own account.' },
)

/** The response to changing the password. */
export const PasswordChanged = Type.Object(
  {
    object: kind('password'),
    changed: Type.Literal(true, { description: 'Always true: effective immediately.' }),
  },
  { description: 'The password was changed, and all other sessions of the user were ended.' },
)

/** POST /session/reset */
export const RequestReset = Type.Object(
  { email: Type.String({ description: 'The address of the account.' }) },
  { description: 'The user who forgot the password.' },
)

/** The response to a request for a reset link, the same whether the account exists or not. */
export const ResetRequested = Type.Object(
  {
    object: kind('password_reset'),
    minutes: Type.Integer({ description: 'Minutes until the link expires.' }),
  },
  { description: 'If an account with that address exists, a reset link is being sent.' },
)

/** POST /session/reset/confirm */
export const ConfirmReset = Type.Object(
  {
    token: Type.String({ description: 'The part of the link after `#`.' }),
    password: password('The new password: at least 10 characters, and not a common password.'),
  },
  { description: 'A new password, set with a reset link.' },
)

/** The response to a reset. */
export const ResetConfirmed = Type.Object(
  {
    object: kind('password_reset'),
    email: Type.String({ description: 'The address to sign in with.' }),
  },
  {
    description: 'The password was set, and all sessions of the user were ended. Second steps are unchanged.',
  },
)

/** A signed-in browser. */
export const AccountSession = Type.Object(
  {
    object: kind('account_session'),
    id: Id,
    created_at: Timestamp,
    last_seen_at: Type.String({ description: 'When it was last used, accurate to ten minutes.' }),
    expires_at: Timestamp,
    ip: Nullable(Type.String(), { description: 'IP address of the sign-in.' }),
    browser: Nullable(Type.String(), {
      description: 'Browser and operating system; null: unknown.',
    }),
    method: Type.String({
      description: 'How the user signed in: `password`, `passkey`, or `oidc:` and the identity provider.',
      examples: ['password'],
    }),
    strong: Type.Boolean({ description: 'Whether a second step was completed.' }),
    current: Type.Boolean({ description: 'Whether this is the session of the request.' }),
  },
  { description: 'A session of the user.' },
)
export type AccountSession = Static<typeof AccountSession>

/** GET /account/sessions */
export const AccountSessionList = listOf(AccountSession, 'sessions')

/** DELETE /account/sessions/:id */
export const AccountSessionEnded = Type.Object(
  { object: kind('account_session'), id: Id, deleted: Deleted },
  { description: 'The session was ended.' },
)

/** DELETE /account/sessions */
export const AccountSessionsEnded = Type.Object(
  {
    object: kind('account_session'),
    deleted: Type.Integer({ description: 'Number of sessions that were ended.' }),
  },
  { description: 'All other sessions of the user were ended.' },
)

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
  params: path({ id: pathId }),
  response: { 200: AccountSessionEnded },
})
export const endAccountSessions = operation('DELETE /account/sessions', {
  access: 'people',
  summary: 'End all your other sessions',
  description: 'Not part of the hosted API.',
  response: { 200: AccountSessionsEnded },
})
