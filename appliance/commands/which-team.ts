/** Which team a command is about: said one way in all of them, by name or by id. */
import { Option } from 'commander'
import { Failure } from './failure.ts'

/** The option of commands that are about one team. */
export interface TeamOption {
  /** Its name or id; undefined: the first team, or all of them. */
  team?: string
}

/** The option of commands that act for one team. */
export const teamToActFor = (): Option =>
  new Option('--team <team>', 'Team name or ID (default: the first team)')

/** The option of commands that are about all teams, or one. */
export const teamFilter = (description: string): Option =>
  new Option('--team <team>', `${description}, by name or ID (default: all)`)

/**
 * The team that was asked for. An id goes before a name: who calls a team like the id of another hides nobody. Pure.
 * @throws Failure when there is none of that name or id, or several of that name
 */
export function teamCalled<T extends { id: string; name: string }>(teams: readonly T[], given: string): T {
  const byId = teams.find(({ id }) => id === given.toLowerCase())
  const found = byId ? [byId] : teams.filter(({ name }) => name === given)
  if (found.length === 0) throw new Failure(`Team ${given} not found. See: posthaste team list`)
  if (found.length > 1)
    throw new Failure(
      `Several teams are named ${given}. Use the ID of one: ${found.map(({ id }) => id).join(', ')}`,
    )
  return found[0]!
}
