/** Variables of a template: their names, types, and the values that a request gives. Pure. */
import { RESERVED_KEYS } from '../mail/audience.ts'
import { refuse } from '../mail/refusals.ts'
import type { MergeValues } from './source.ts'

const MAX_VARIABLES = 50
/** Limit on the characters of a value. */
const MAX_VALUE = 2000
const KEY = /^\w{1,50}$/

/** A variable that a template declares. */
export interface TemplateVariable {
  key: string
  type: 'string' | 'number'
  /** The fallback; null if there is none, so that each request must give a value. */
  fallback: string | number | null
}

/** A variable as requests send it. Clients for .NET have five types and send `fallbackValue`. */
export interface VariableInput {
  key: string
  type: string
  fallback_value?: unknown
  fallbackValue?: unknown
}

/**
 * Reads the variables of a template. Booleans, objects and lists become strings, because clients can only read two
 * types. Refuses: `invalid_field`, `missing_field`.
 */
export function parseVariables(given: readonly VariableInput[]): TemplateVariable[] {
  if (given.length > MAX_VARIABLES)
    throw refuse('invalid_field', { field: 'variables', expected: `at most ${MAX_VARIABLES} of them` })
  const keys = new Set<string>()
  return given.map((one, at) => {
    const field = `variables[${at}]`
    const variable = readVariable(one, field)
    if (keys.has(variable.key))
      throw refuse('invalid_field', { field: `${field}.key`, expected: 'each key may occur once' })
    keys.add(variable.key)
    return variable
  })
}

function readVariable(given: VariableInput, field: string): TemplateVariable {
  const { key } = given
  if (key === '') throw refuse('missing_field', { field: `${field}.key` })
  if (!KEY.test(key))
    throw refuse('invalid_field', {
      field: `${field}.key`,
      expected: '1 to 50 letters (A-Z, a-z), digits and underscores',
    })
  if (isReserved(key))
    throw refuse('invalid_field', { field: `${field}.key`, expected: `another name; \`${key}\` is reserved` })
  const type = given.type === 'number' ? 'number' : 'string'
  const value = given.fallback_value ?? given.fallbackValue ?? null
  // Some clients send "" for a number without fallback.
  if (value === null || (type === 'number' && value === '')) return { key, type, fallback: null }
  return { key, type, fallback: readValue(`${field}.fallback_value`, type, value) }
}

const isReserved = (key: string): boolean => (RESERVED_KEYS as readonly string[]).includes(key)

/** Reads a value of a type. Refuses: `invalid_field`. */
function readValue(field: string, type: TemplateVariable['type'], value: unknown): string | number {
  if (type === 'number') {
    if (typeof value !== 'number' || !Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER)
      throw refuse('invalid_field', { field, expected: 'a number of at most 2^53 - 1' })
    return value
  }
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text.length > MAX_VALUE || text.includes('\0'))
    throw refuse('invalid_field', {
      field,
      expected: `at most ${MAX_VALUE} characters, without NUL characters`,
    })
  return text.toWellFormed()
}

/**
 * Checks the values that a request gives; null counts as none. Undeclared keys may have values of either type, because
 * uploaded templates often declare nothing.
 * Refuses: `invalid_field`.
 */
export function checkValues(
  declared: readonly TemplateVariable[],
  given: Readonly<Record<string, unknown>>,
): Map<string, string | number> {
  const entries = Object.entries(given).filter(([key, value]) => KEY.test(key) && value !== null)
  if (entries.length > MAX_VARIABLES)
    throw refuse('invalid_field', {
      field: 'template.variables',
      expected: `at most ${MAX_VARIABLES} of them`,
    })
  const types = new Map(declared.map(({ key, type }) => [key, type]))
  return new Map(
    entries
      .filter(([key]) => !isReserved(key))
      .map(([key, value]) => {
        const type = types.get(key) ?? (typeof value === 'number' ? 'number' : 'string')
        return [key, readValue(`template.variables.${key}`, type, value)]
      }),
  )
}

/**
 * Returns the values of a template's variables. They come from the sender's own code, so HTML in them isn't escaped.
 */
export function createVariableValues(
  declared: readonly TemplateVariable[],
  values: ReadonlyMap<string, string | number>,
): MergeValues {
  const known = new Map(declared.map((variable) => [variable.key, variable]))
  return (key) => {
    const variable = known.get(key)
    const text = values.get(key)?.toString() ?? null
    const fallback = variable?.fallback?.toString() ?? null
    if (text === null && fallback === null) return undefined
    return { text, fallback, raw: true }
  }
}
