/** Reads which entries of the audit log are asked for out of a query string. */
import { refuse } from '../mail/refusals.ts'
import type { AuditFilter } from '../storage/storage.ts'
import { readInstant, type Given } from './conditions.ts'

/** Longest text of a condition: an email address fits. */
const LONGEST = 320

/** The conditions, as they are called in the query. */
const AUDIT_CONDITIONS = ['actor', 'action', 'target', 'since', 'until'] as const

type Condition = (typeof AUDIT_CONDITIONS)[number]

/**
 * Refuses: `invalid_parameter`, also for a condition that there is not: a list that leaves one out would show too much.
 * @param other names of the query that are no conditions
 */
export function readAuditFilter(
  query: unknown,
  other: readonly string[],
): Omit<AuditFilter, 'teamId' | 'appliance'> {
  const given = query as Given
  const known: readonly string[] = [...AUDIT_CONDITIONS, ...other]
  const strange = Object.keys(given).find((name) => !known.includes(name))
  if (strange !== undefined)
    throw refuse('invalid_parameter', { parameter: strange, expected: `one of ${known.join(', ')}` })
  return {
    actor: textOf(given, 'actor'),
    action: textOf(given, 'action'),
    target: textOf(given, 'target'),
    since: instantOf(given, 'since'),
    until: instantOf(given, 'until'),
  }
}

function textOf(given: Given, name: Condition): string | undefined {
  const value = given[name]
  if (value === undefined || value === '') return undefined
  if (typeof value !== 'string' || value.length > LONGEST || value.includes('\0'))
    throw refuse('invalid_parameter', {
      parameter: name,
      expected: `a single string of at most ${LONGEST} characters`,
    })
  return value.trim()
}

function instantOf(given: Given, name: Condition): number | undefined {
  const text = textOf(given, name)
  return text === undefined ? undefined : readInstant(text, name)
}
