import { Type, type Static } from 'typebox'
import { kind } from './shared.ts'

/** GET /setup. Ours. */
export const SetUp = Type.Object(
  {
    object: kind('setup'),
    open: Type.Boolean({
      description: 'The appliance has no owner yet; the link in its log makes one.',
    }),
  },
  { description: 'Whether the appliance waits for its owner.' },
)
export type SetUp = Static<typeof SetUp>

/** POST /setup: makes the owner. Answers with a cookie, as POST /session does. Ours. */
export const CreateOwner = Type.Object(
  {
    token: Type.String({
      maxLength: 100,
      description: 'What follows the # in the link that the appliance printed.',
    }),
    email: Type.String({
      description: "The owner's address, to sign in with.",
      examples: ['you@example.com'],
    }),
    password: Type.String({ description: "The owner's password." }),
    team_name: Type.String({ description: 'What the team is called: 1 to 100 characters.' }),
  },
  { description: 'The first owner and their team.' },
)
export type CreateOwner = Static<typeof CreateOwner>
