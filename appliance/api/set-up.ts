import { Type, type Static } from 'typebox'
import { kind } from './shared.ts'
import { operationsIn } from './operation.ts'

/** GET /setup. Not part of the hosted API. */
export const SetUp = Type.Object(
  {
    object: kind('setup'),
    open: Type.Boolean({
      description: 'The server has no owner yet. Its log has a link to create one.',
    }),
  },
  { description: 'Whether the server has no owner yet.' },
)
export type SetUp = Static<typeof SetUp>

/**
 * POST /setup: creates the owner. The response sets a cookie, like that of POST /session. Not part of the hosted API.
 */
export const CreateOwner = Type.Object(
  {
    token: Type.String({
      maxLength: 100,
      description: 'The part after the `#` of the link that the server printed.',
    }),
    email: Type.String({
      description: "The owner's email address, used to sign in.",
      examples: ['you@example.com'],
    }),
    password: Type.String({ description: "The owner's password." }),
    team_name: Type.String({ description: 'Name of the team: 1 to 100 characters.' }),
  },
  { description: 'The first owner and their team.' },
)
export type CreateOwner = Static<typeof CreateOwner>

const operation = operationsIn('Dashboard')

export const getSetup = operation('GET /setup', {
  access: 'public',
  summary: 'Check whether the server has an owner',
  description: 'Not part of the hosted API.',
  response: { 200: SetUp },
})
export const setUp = operation('POST /setup', {
  access: 'public',
  summary: 'Create the first owner',
  description:
    'Requires the token of the setup link, which the server prints at startup while it has no owner. Signs the owner in with a cookie. The link expires in 24 hours and works once. Not part of the hosted API.',
  body: CreateOwner,
  response: { 201: SetUp },
  errors: ['403', '429'],
})
