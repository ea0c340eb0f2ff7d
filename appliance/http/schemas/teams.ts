import { Type, type Static } from 'typebox'
import { ROLES } from '../../mail/roles.ts'
import { Id, kind, listOf, literals, Timestamp } from './shared.ts'

const name = Type.String({ description: 'What the team is called: 1 to 100 characters.' })

/** A team with its rules. */
export const Team = Type.Object(
  {
    object: kind('team'),
    id: Id,
    name,
    plan: Type.String({ description: 'What it may send.', examples: ['unlimited'] }),
    mfa_required: Type.Boolean({
      description: 'Members without a second factor can do nothing but set one up.',
    }),
    members: Type.Integer({ description: 'How many people are in it.' }),
    created_at: Timestamp,
  },
  { description: 'A team: domains, keys and mail belong to it.' },
)
export type Team = Static<typeof Team>

/** PATCH /team */
export const UpdateTeam = Type.Object({ name }, { description: 'Another name for the team.' })

/** PATCH /team/security */
export const UpdateTeamSecurity = Type.Object(
  { mfa_required: Type.Boolean({ description: 'Whether its members need a second factor.' }) },
  { description: 'How members of the team sign in.' },
)

/** POST /teams */
export const CreateTeam = Type.Object({ name }, { description: 'A new team.' })

/** A team of one's own, and what one is there. */
export const OwnTeam = Type.Object(
  {
    object: kind('team'),
    id: Id,
    name,
    role: literals(ROLES, { description: 'What the person is there.' }),
    created_at: Timestamp,
  },
  { description: 'A team of one’s own.' },
)

/** GET /teams */
export const OwnTeamList = listOf(OwnTeam, 'teams')

/** POST /session/team */
export const SwitchTeam = Type.Object({ team_id: Id }, { description: 'The team to look at.' })
