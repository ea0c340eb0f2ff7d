import { Type, type Static } from 'typebox'
import { Deleted, Id, kind, listOf, Nullable, Timestamp } from './shared.ts'

const password = (description: string) => Type.String({ description })

/** POST /account/password */
export const ChangePassword = Type.Object(
  {
    current: password('The password so far.'),
    new: password(
      'The password from now on: 10 characters or more, and none of those that everybody tries first.',
    ),
  },
  { description: 'A new password for one’s own account.' },
)

/** What changing the password answers. */
export const PasswordChanged = Type.Object(
  {
    object: kind('password'),
    changed: Type.Literal(true, { description: 'Always true: it holds from now on.' }),
  },
  { description: 'The password was changed; all other sessions of the person have ended.' },
)

/** POST /session/reset */
export const AskReset = Type.Object(
  { email: Type.String({ description: 'The address of the account.' }) },
  { description: 'Who has forgotten the password.' },
)

/** What asking for a link answers, whether there is such an account or not. */
export const ResetAsked = Type.Object(
  {
    object: kind('password_reset'),
    minutes: Type.Integer({ description: 'How long a link is good once it was sent.' }),
  },
  { description: 'If there is an account with that address, a link is on its way to it.' },
)

/** POST /session/reset/confirm */
export const ConfirmReset = Type.Object(
  {
    token: Type.String({ description: 'What stands behind the `#` of the link.' }),
    password: password(
      'The password from now on: 10 characters or more, and none of those that everybody tries first.',
    ),
  },
  { description: 'A new password for whoever holds the link.' },
)

/** What a reset answers. */
export const ResetDone = Type.Object(
  {
    object: kind('password_reset'),
    email: Type.String({ description: 'The address to sign in with.' }),
  },
  { description: 'The password was set; all sessions of the person have ended. Second factors stay.' },
)

/** A place where somebody is signed in. */
export const AccountSession = Type.Object(
  {
    object: kind('account_session'),
    id: Id,
    created_at: Timestamp,
    last_seen_at: Type.String({ description: 'When it was used last, to ten minutes.' }),
    expires_at: Timestamp,
    ip: Nullable(Type.String(), { description: 'The address it was begun from.' }),
    browser: Nullable(Type.String(), {
      description: 'The browser and its system, in words; null: it did not say.',
    }),
    method: Type.String({
      description: 'What it was begun with: `password`, `passkey`, or `oidc:` and the identity provider.',
      examples: ['password'],
    }),
    strong: Type.Boolean({ description: 'More than a password stands behind it.' }),
    current: Type.Boolean({ description: 'The session that asks.' }),
  },
  { description: 'A place where the person is signed in.' },
)
export type AccountSession = Static<typeof AccountSession>

/** GET /account/sessions */
export const AccountSessionList = listOf(AccountSession, 'sessions')

/** DELETE /account/sessions/:id */
export const AccountSessionEnded = Type.Object(
  { object: kind('account_session'), id: Id, deleted: Deleted },
  { description: 'That session has ended.' },
)

/** DELETE /account/sessions */
export const AccountSessionsEnded = Type.Object(
  {
    object: kind('account_session'),
    deleted: Type.Integer({ description: 'How many sessions were ended.' }),
  },
  { description: 'All sessions of the person but the one that asks have ended.' },
)
