import type { Static } from 'typebox'
import { boolean, kind, object, string } from './schemas.ts'
import { operationsIn } from './operation.ts'

/** GET /setup. Not part of the hosted API. */
export const SetUp = object('Whether the server has no owner yet.', {
  object: kind('setup'),
  open: boolean('The server has no owner yet. Its log has a link to create one.'),
})
export type SetUp = Static<typeof SetUp>

/**
 * POST /setup: creates the owner. The response sets a cookie, like that of POST /session. Not part of the hosted API.
 */
export const CreateOwner = object('The first owner and their team.', {
  token: string('The part after the `#` of the link that the server printed.', { maxLength: 100 }),
  email: string("The owner's email address, used to sign in.", { examples: ['you@example.com'] }),
  password: string("The owner's password."),
  team_name: string('Name of the team: 1 to 100 characters.'),
})
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
