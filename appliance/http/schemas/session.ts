import { Type, type Static } from 'typebox'
import { Id } from './shared.ts'

/** POST /session: sign-in of the dashboard. Answers with a cookie. */
export const SignIn = Type.Object({ email: Type.String(), password: Type.String() })

/** GET /session: who is signed in, and to what. */
export const Session = Type.Object({
  object: Type.Literal('session'),
  user: Type.Object({ id: Id, email: Type.String() }),
  team: Type.Object({ id: Id, name: Type.String() }),
  node: Type.Object({
    hostname: Type.String(),
    version: Type.String(),
    sandbox: Type.Boolean({ description: 'No mail leaves this machine; the Inbox page shows it.' }),
  }),
})
export type Session = Static<typeof Session>
