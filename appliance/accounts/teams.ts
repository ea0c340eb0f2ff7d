/** Teams: their names, their rules, and which team a session uses. */
import type { Clock } from '../clock/clock.ts'
import { newId } from '../mail/ids.ts'
import { findFieldValueProblem } from '../mail/headers.ts'
import { refuse } from '../mail/refusals.ts'
import type { Membership, Storage, Team, TeamDetails } from '../storage/storage.ts'
import { hashToken } from './tokens.ts'

export interface Teams {
  /** Lists a person's teams in the order in which the person joined them. */
  teamsOf(args: { userId: string }): Promise<Membership[]>
  /** Returns a team. Refuses: `not_found`. */
  getTeam(args: { id: string }): Promise<TeamDetails>
  /** Creates a team whose owner is an existing user. Refuses: `invalid_field` (name). */
  createTeam(args: { name: string; ownerId: string }): Promise<Team>
  /** Renames a team. Refuses: `invalid_field` (name), `not_found`. */
  renameTeam(args: { id: string; name: string }): Promise<TeamDetails>
  /**
   * Sets whether members need a second factor.
   * Refuses: `own_second_factor_first` (the requesting person has no second factor), `not_found`.
   */
  requireMfa(args: { id: string; required: boolean; userId: string }): Promise<TeamDetails>
  /** Switches a session to another of its person's teams. Refuses: `not_found`. */
  switchTeam(args: { token: string; teamId: string }): Promise<void>
}

/** Validates a team's name. Refuses: `invalid_field` (`field`). */
export function parseTeamName(typed: string, field = 'name'): string {
  const name = typed.trim()
  if (name === '' || name.length > 100)
    throw refuse('invalid_field', { field, expected: 'a name of 1 to 100 characters' })
  const problem = findFieldValueProblem(name)
  if (problem !== undefined) throw refuse('invalid_field', { field, expected: problem })
  return name
}

/** Creates the methods. */
export function createTeams({ storage, clock }: { storage: Storage; clock: Clock }): Teams {
  const absent = () => refuse('not_found', { resource: 'Team' })
  const getTeam: Teams['getTeam'] = async ({ id }) => {
    const team = await storage.getTeam({ id }, clock.now())
    if (!team) throw absent()
    return team
  }
  return {
    getTeam,

    teamsOf: (args) => storage.membershipsOf(args, clock.now()),

    async createTeam({ name, ownerId }) {
      const now = clock.now()
      const team = { id: newId(now), name: parseTeamName(name), createdAt: now }
      await storage.createTeam({ team, ownerId }, now)
      return team
    },

    async renameTeam({ id, name: typed }) {
      const name = parseTeamName(typed)
      if (!(await storage.renameTeam({ id, name }, clock.now()))) throw absent()
      return getTeam({ id })
    },

    async requireMfa({ id, required, userId }) {
      if (required && !(await storage.hasSecondFactor({ userId }, clock.now())))
        throw refuse('own_second_factor_first')
      if (!(await storage.setMfaRequired({ id, required }, clock.now()))) throw absent()
      return getTeam({ id })
    },

    async switchTeam({ token, teamId }) {
      if (!(await storage.switchTeam({ tokenHash: hashToken(token), teamId }, clock.now()))) throw absent()
    },
  }
}
