/** Which team a command acts for. */
import { Failure } from './failure.ts'

/** The option of commands that act for one team. */
export interface TeamOption {
  /** Its name or id; undefined: the first team. */
  team?: string
}

/**
 * The team that was asked for. Pure.
 * @throws Failure when there is none of that name or id, or several of that name
 */
export function teamCalled<T extends { id: string; name: string }>(teams: readonly T[], given: string): T {
  const found = teams.filter(({ id, name }) => id === given.toLowerCase() || name === given)
  if (found.length === 0) throw new Failure(`There is no team ${given}. See: posthaste team list`)
  if (found.length > 1)
    throw new Failure(`Several teams are called ${given}. Give the id: posthaste team list`)
  return found[0]!
}
