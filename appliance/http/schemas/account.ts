import { Type, type Static } from 'typebox'
import { Deleted, Id, kind, listOf, Nullable, Timestamp } from '../../api/shared.ts'

const password = (description: string) => Type.String({ description })

/** POST /account/password */
export const ChangePassword = Type.Object(
  {
    current: password('The current password.'),
    new: password('The new password: at least 10 characters, and not a common password.'),
  },
  { description: 'A new password for your own account.' },
)

/** What changing the password answers. */
export const PasswordChanged = Type.Object(
  {
    object: kind('password'),
    changed: Type.Literal(true, { description: 'Always true: effective immediately.' }),
  },
  { description: 'The password was changed, and all other sessions of the user were ended.' },
)

/** POST /session/reset */
export const AskReset = Type.Object(
  { email: Type.String({ description: 'The address of the account.' }) },
  { description: 'The user who forgot the password.' },
)

/** What asking for a link answers, whether there is such an account or not. */
export const ResetAsked = Type.Object(
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

/** What a reset answers. */
export const ResetDone = Type.Object(
  {
    object: kind('password_reset'),
    email: Type.String({ description: 'The address to sign in with.' }),
  },
  {
    description: 'The password was set, and all sessions of the user were ended. Second steps are unchanged.',
  },
)

/** A place where somebody is signed in. */
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
