import { Type, type Static } from 'typebox'
import { RIGHTS, ROLES } from '../../mail/roles.ts'
import { Deleted, Id, kind, literals, Nullable } from '../../api/shared.ts'

/** POST /session: sign-in of the dashboard. Answers with a cookie. */
export const SignIn = Type.Object(
  {
    email: Type.String({ description: 'The address of the account.' }),
    password: Type.String({ description: 'The password.' }),
  },
  { description: 'The account to sign in to.' },
)

/** What can be the second step. */
export const SecondMethod = literals(['totp', 'passkey', 'recovery_code'], {
  description: 'An authenticator code, a passkey, or a recovery code.',
})

/** POST /session where a second factor is set up, and GET /session/step. */
export const SignInStep = Type.Object(
  {
    object: kind('sign_in'),
    next: Type.Literal('second_factor', {
      description: 'The password was correct; a second step is required.',
    }),
    methods: Type.Array(SecondMethod, { description: 'The available second steps.' }),
  },
  { description: 'The missing sign-in step.' },
)
export type SignInStep = Static<typeof SignInStep>

/** GET /session: who is signed in, and to what. */
export const Session = Type.Object(
  {
    object: kind('session'),
    user: Type.Object(
      {
        id: Id,
        email: Type.String({ description: 'The address to sign in with.' }),
        has_second_factor: Type.Boolean({
          description: 'Whether an authenticator app or a passkey is set up.',
        }),
        must_enrol: Type.Boolean({
          description:
            'The team requires two-step sign-in. Until this session completes a second step, only the account pages are available.',
        }),
      },
      { description: 'The signed-in user.' },
    ),
    team: Type.Object(
      { id: Id, name: Type.String({ description: 'Name of the team.' }) },
      { description: 'The current team of the session.' },
    ),
    role: literals(ROLES, { description: "The user's role in this team." }),
    rights: Type.Array(literals(RIGHTS), { description: 'The permissions of that role.' }),
    teams: Type.Array(
      Type.Object({
        id: Id,
        name: Type.String({ description: 'Name of the team.' }),
        role: literals(ROLES, { description: "The user's role in it." }),
      }),
      { description: 'All teams of the user, in the order they joined.' },
    ),
    operator: Type.Boolean({
      description: 'Whether this team operates the server and so can manage all of it.',
    }),
    node: Type.Object(
      {
        hostname: Type.String({ description: 'The EHLO name of the server.' }),
        version: Type.String({ description: 'Version of Posthaste.' }),
        sandbox: Type.Boolean({
          description: 'Sandbox: no mail leaves this machine. Captured mail is on the Inbox page.',
        }),
        smtp_port: Nullable(Type.Integer(), {
          description: 'The port for SMTP submission with STARTTLS; null: none.',
        }),
      },
      { description: 'The node that responded.' },
    ),
  },
  { description: 'The signed-in user, and the current team.' },
)
export type Session = Static<typeof Session>

/** DELETE /session */
export const SignedOut = Type.Object(
  { object: kind('session'), deleted: Deleted },
  { description: 'The session was ended.' },
)
