import { Type, type Static } from 'typebox'
import { RIGHTS, ROLES } from '../mail/roles.ts'
import { array, arrayOfObjects, boolean, kind, literals, Nullable, object, string } from './schemas.ts'
import { Deleted, Id } from './shared.ts'
import { CodeInput, PasskeyInput, PasskeyOptions } from './factors.ts'
import { operationsIn } from './operation.ts'

/** POST /session: signs in to the dashboard. The response sets a cookie. */
export const SignIn = object('The account to sign in to.', {
  email: string('The address of the account.'),
  password: string('The password.'),
})

/** Methods of the second step. */
export const SecondMethod = literals(
  ['totp', 'passkey', 'recovery_code'],
  'An authenticator code, a passkey, or a recovery code.',
)

/** POST /session if a second step is set up, and GET /session/step. */
export const SignInStep = object('The missing sign-in step.', {
  object: kind('sign_in'),
  next: Type.Literal('second_factor', {
    description: 'The password was correct; a second step is required.',
  }),
  methods: array(SecondMethod, 'The available second steps.'),
})
export type SignInStep = Static<typeof SignInStep>

/** GET /session: the signed-in user and team. */
export const Session = object('The signed-in user, and the current team.', {
  object: kind('session'),
  user: object('The signed-in user.', {
    id: Id,
    email: string('The address to sign in with.'),
    has_second_factor: boolean('Whether an authenticator app or a passkey is set up.'),
    must_enrol: boolean(
      'The team requires two-step sign-in. Until this session completes a second step, only the account pages are available.',
    ),
  }),
  team: object('The current team of the session.', { id: Id, name: string('Name of the team.') }),
  role: literals(ROLES, "The user's role in this team."),
  rights: array(literals(RIGHTS), 'The permissions of that role.'),
  teams: arrayOfObjects('All teams of the user, in the order they joined.', {
    id: Id,
    name: string('Name of the team.'),
    role: literals(ROLES, "The user's role in it."),
  }),
  operator: boolean('Whether this team operates the server and so can manage all of it.'),
  node: object('The node that responded.', {
    hostname: string('The EHLO name of the server.'),
    version: string('Version of Posthaste.'),
    sandbox: boolean('Sandbox: no mail leaves this machine. Captured mail is on the Inbox page.'),
    smtp_port: Nullable(Type.Integer(), 'The port for SMTP submission with STARTTLS; null: none.'),
  }),
})
export type Session = Static<typeof Session>

export const SignedOut = object('The session was ended.', { object: kind('session'), deleted: Deleted })

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
