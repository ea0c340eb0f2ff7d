import { Type, type Static } from 'typebox'
import { ROLES } from '../../mail/roles.ts'
import { Id, kind, listOf, literals, Timestamp } from '../../api/shared.ts'

const name = Type.String({ description: 'Name of the team: 1 to 100 characters.' })

/** A team with its rules. */
export const Team = Type.Object(
  {
    object: kind('team'),
    id: Id,
    name,
    plan: Type.String({ description: 'Its sending plan.', examples: ['unlimited'] }),
    mfa_required: Type.Boolean({
      description: 'Members without a second step can only set one up.',
    }),
    members: Type.Integer({ description: 'Number of members.' }),
    created_at: Timestamp,
  },
  { description: 'A team, which owns domains, keys and mail.' },
)
export type Team = Static<typeof Team>

/** PATCH /team */
export const UpdateTeam = Type.Object({ name }, { description: 'The new name of the team.' })

/** PATCH /team/security */
export const UpdateTeamSecurity = Type.Object(
  { mfa_required: Type.Boolean({ description: 'Whether its members need a second step.' }) },
  { description: 'Sign-in rules of the team.' },
)

/** POST /teams */
export const CreateTeam = Type.Object({ name }, { description: 'A new team.' })

/** A team of one's own, and what one is there. */
export const OwnTeam = Type.Object(
  {
    object: kind('team'),
    id: Id,
    name,
    role: literals(ROLES, { description: "The user's role in it." }),
    created_at: Timestamp,
  },
  { description: "One of the user's teams." },
)

/** GET /teams */
export const OwnTeamList = listOf(OwnTeam, 'teams')

/** POST /session/team */
export const SwitchTeam = Type.Object({ team_id: Id }, { description: 'The team to switch to.' })
