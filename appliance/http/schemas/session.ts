import { Type, type Static } from 'typebox'
import { RIGHTS, ROLES } from '../../mail/roles.ts'
import { Deleted, Id, kind, literals, Nullable } from './shared.ts'

/** POST /session: sign-in of the dashboard. Answers with a cookie. */
export const SignIn = Type.Object(
  {
    email: Type.String({ description: 'The address of the account.' }),
    password: Type.String({ description: 'Its password.' }),
  },
  { description: 'Who wants to sign in.' },
)

/** What can be the second step. */
export const SecondMethod = literals(['totp', 'passkey', 'recovery_code'], {
  description: 'A code of an app, a passkey, or one of the codes for when both are lost.',
})

/** POST /session where a second factor is set up, and GET /session/step. */
export const SignInStep = Type.Object(
  {
    object: kind('sign_in'),
    next: Type.Literal('second_factor', {
      description: 'Who is there was recognised; a second factor is missing.',
    }),
    methods: Type.Array(SecondMethod, { description: 'What it can be given with.' }),
  },
  { description: 'The step that is still missing.' },
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
        has_second_factor: Type.Boolean({ description: 'Whether an app for codes or a passkey is set up.' }),
        must_enrol: Type.Boolean({
          description:
            'The team asks for a second factor: until this session has one, only the own account is open.',
        }),
      },
      { description: 'Who is signed in.' },
    ),
    team: Type.Object(
      { id: Id, name: Type.String({ description: 'What the team is called.' }) },
      { description: 'The team whose mail is shown.' },
    ),
    role: literals(ROLES, { description: 'What the person is in this team.' }),
    rights: Type.Array(literals(RIGHTS), { description: 'What that role may do.' }),
    teams: Type.Array(
      Type.Object({
        id: Id,
        name: Type.String({ description: 'What the team is called.' }),
        role: literals(ROLES, { description: 'What the person is there.' }),
      }),
      { description: 'All teams of the person, the one joined first before the others.' },
    ),
    operator: Type.Boolean({
      description: 'This team runs the server: what belongs to the whole machine is in its hand.',
    }),
    node: Type.Object(
      {
        hostname: Type.String({ description: 'The name that it says to other mail servers.' }),
        version: Type.String({ description: 'The version of the program.' }),
        sandbox: Type.Boolean({ description: 'No mail leaves this machine; the Inbox page shows it.' }),
        smtp_port: Nullable(Type.Integer(), {
          description: 'The port at which apps submit mail with STARTTLS; null: there is none.',
        }),
      },
      { description: 'The daemon that answers.' },
    ),
  },
  { description: 'Who is signed in, and to what.' },
)
export type Session = Static<typeof Session>

/** DELETE /session */
export const SignedOut = Type.Object(
  { object: kind('session'), deleted: Deleted },
  { description: 'Nobody is signed in any more.' },
)
