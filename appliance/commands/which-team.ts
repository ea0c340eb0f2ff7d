/** The `--team` option, which selects a team by name or id in all commands. */
import { Option } from 'commander'
import { Failure } from './failure.ts'

/** The option of commands about one team. */
export interface TeamOption {
  /** Name or ID; undefined for the first team, or for all teams, depending on the command. */
  team?: string
}

/** Creates the option for commands that act for one team. */
export const createTeamOption = (): Option =>
  new Option('--team <team>', 'Team name or ID (default: the first team)')

/** Creates the option for commands about all teams, or one. */
export const createTeamFilterOption = (description: string): Option =>
  new Option('--team <team>', `${description}, by name or ID (default: all)`)

/**
 * Finds a team by ID or name. IDs take precedence, so that no team becomes unreachable because another team's name
 * equals its ID. Pure.
 *
 * @throws Failure if no team or several teams match
 */
export function findTeam<T extends { id: string; name: string }>(teams: readonly T[], given: string): T {
  const byId = teams.find(({ id }) => id === given.toLowerCase())
  const found = byId ? [byId] : teams.filter(({ name }) => name === given)
  if (found.length === 0) throw new Failure(`Team ${given} not found. See: posthaste team list`)
  if (found.length > 1)
    throw new Failure(
      `Several teams are named ${given}. Use the ID of one: ${found.map(({ id }) => id).join(', ')}`,
    )
  return found[0]!
}
