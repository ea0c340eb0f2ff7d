/** Reads conditions of a search out of a query string. */
import { Type } from 'typebox'
import { condition, readInstant } from '../api/parameters.ts'
import { refuse } from '../mail/refusals.ts'

/** A query string as it was taken apart: a name that occurs twice has an array. */
export type Given = Record<string, unknown>

/**
 * Refuses: `invalid_parameter` for a condition that there is not: a search that leaves one out would find too much.
 * @param other names of the query that are no conditions
 */
export function refuseStrange(given: Given, conditions: readonly string[], other: readonly string[]): void {
  const strange = Object.keys(given).find((name) => !conditions.includes(name) && !other.includes(name))
  if (strange !== undefined)
    throw refuse('invalid_parameter', { parameter: strange, expected: `one of ${conditions.join(', ')}` })
}

const text = condition(Type.String())

/** The text of a condition, trimmed; undefined: it is not asked for. Refuses: `invalid_parameter`. */
export const textOf = (given: Given, name: string): string | undefined => text.read(given[name], name)

/** One of the words that are allowed, written in any case. Refuses: `invalid_parameter`. */
export function oneOf<T extends string>(given: Given, name: string, allowed: readonly T[]): T | undefined {
  const text = textOf(given, name)
  if (text === undefined) return undefined
  const found = allowed.find((one) => one === text.toLowerCase())
  if (found === undefined)
    throw refuse('invalid_parameter', { parameter: name, expected: `one of ${allowed.join(', ')}` })
  return found
}

/** An instant or a day in UTC, in Unix milliseconds. Refuses: `invalid_parameter`. */
export function instantOf(given: Given, name: string): number | undefined {
  const text = textOf(given, name)
  return text === undefined ? undefined : readInstant(text, name)
}
