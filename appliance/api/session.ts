import { Type, type Static } from 'typebox'
import { RIGHTS, ROLES } from '../mail/roles.ts'
import { Deleted, Id, kind, literals, Nullable } from './shared.ts'
import { CodeInput, PasskeyInput, PasskeyOptions } from './factors.ts'
import { operationsIn } from './operation.ts'

/** POST /session: signs in to the dashboard. The response sets a cookie. */
export const SignIn = Type.Object(
  {
    email: Type.String({ description: 'The address of the account.' }),
    password: Type.String({ description: 'The password.' }),
  },
  { description: 'The account to sign in to.' },
)

/** Methods of the second step. */
export const SecondMethod = literals(['totp', 'passkey', 'recovery_code'], {
  description: 'An authenticator code, a passkey, or a recovery code.',
})

/** POST /session if a second step is set up, and GET /session/step. */
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

/** GET /session: the signed-in user and team. */
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

const step =
  'Requires the cookie of the first step. Allowed for ten minutes and five attempts. Not part of the hosted API.'

const operation = operationsIn('Dashboard')

export const signIn = operation('POST /session', {
  access: 'public',
  summary: 'Sign in',
  description:
    'Sets a session cookie. If a second step is set up: status 202 and a cookie for that step. Limited to ten attempts per minute.',
  body: SignIn,
  response: { 200: Session, 202: SignInStep },
  errors: ['403', '429'],
})
export const getSession = operation('GET /session', {
  access: 'people',
  summary: 'Get the current session',
  response: { 200: Session },
})
export const signOut = operation('DELETE /session', {
  access: 'people',
  summary: 'Sign out',
  response: { 200: SignedOut },
})
export const getSignInStep = operation('GET /session/step', {
  access: 'public',
  summary: 'Get the missing sign-in step',
  description: step,
  response: { 200: SignInStep },
})
export const cancelSignIn = operation('DELETE /session/step', {
  access: 'public',
  summary: 'Cancel the sign-in',
  description: step,
  response: { 200: SignedOut },
  errors: ['403', '429'],
})
export const signInWithTotp = operation('POST /session/totp', {
  access: 'public',
  summary: 'Submit a code of the authenticator app',
  description: step,
  body: CodeInput,
  response: { 200: Session },
  errors: ['403', '429'],
})
export const signInWithRecoveryCode = operation('POST /session/recovery-code', {
  access: 'public',
  summary: 'Submit a recovery code',
  description: step,
  body: CodeInput,
  response: { 200: Session },
  errors: ['403', '429'],
})
export const getPasskeySignInOptions = operation('POST /session/passkey/options', {
  access: 'public',
  summary: 'Get options to sign in with a passkey',
  description:
    "As the second step, or without the first step's cookie to sign in with only a passkey. Not part of the hosted API.",
  response: { 200: PasskeyOptions },
  errors: ['403', '429'],
})
export const signInWithPasskey = operation('POST /session/passkey', {
  access: 'public',
  summary: 'Submit the response of a passkey',
  description: 'Sets a session cookie. Not part of the hosted API.',
  body: PasskeyInput,
  response: { 200: Session },
  errors: ['403', '429'],
})
