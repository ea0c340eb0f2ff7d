import { FORMATS } from './formats.ts'
import type { KeySchema } from './keys.ts'

/**
 * A value that doesn't match its schema: its place within the setting (empty for the whole setting), the value found,
 * and the expected values.
 */
export interface SchemaMismatch {
  path: string
  found: string
  expected: string
}

/** Checks a value against its schema; returns an empty list when it matches. */
export function checkValue(schema: KeySchema, value: unknown, path = ''): SchemaMismatch[] {
  // Created on demand, because describing every value took most of the time of reading a table.
  const misfit = (): SchemaMismatch[] => [
    { path, found: describe(value, schema.secret), expected: describeExpected(schema) },
  ]
  if (schema.anyOf) return schema.anyOf.some((choice) => choice.const === value) ? [] : misfit()
  switch (schema.type) {
    case 'boolean':
      return typeof value === 'boolean' ? [] : misfit()
    case 'integer':
    case 'number':
      return typeof value === 'number' && isWithin(schema, value) ? [] : misfit()
    case 'array':
      if (!Array.isArray(value) || value.length < (schema.minItems ?? 0)) return misfit()
      return value.flatMap((item, index) => checkValue(schema.items ?? {}, item, `${path}[${index}]`))
    case 'object':
      return isTable(value) ? checkTable(schema, value, path) : misfit()
    case 'string':
    case undefined:
      return typeof value === 'string' && value !== '' && (schemaFormat(schema)?.test(value) ?? true)
        ? []
        : misfit()
  }
}

/** Whether a value is a TOML table; dates are objects too. */
export function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}

const schemaFormat = ({ format }: KeySchema) => (format === undefined ? undefined : FORMATS[format])

function isWithin({ type, minimum, maximum, exclusiveMinimum }: KeySchema, value: number): boolean {
  return (
    (type === 'number' ? Number.isFinite(value) : Number.isSafeInteger(value)) &&
    value >= (minimum ?? -Infinity) &&
    value <= (maximum ?? Infinity) &&
    value > (exclusiveMinimum ?? -Infinity)
  )
}

function checkTable(schema: KeySchema, table: Record<string, unknown>, path: string): SchemaMismatch[] {
  const known = schema.properties ?? {}
  const names = Object.keys(known)
  const strange = Object.keys(table)
    .filter((name) => !Object.hasOwn(known, name))
    .map((name) => ({ path: `${path}.${name}`, found: 'an unknown key', expected: names.join(', ') }))
  return [
    ...strange,
    ...names.flatMap((name) => {
      const value = table[name]
      if (value !== undefined) return checkValue(known[name]!, value, `${path}.${name}`)
      const missing = { path: `${path}.${name}`, found: 'missing', expected: describeExpected(known[name]!) }
      return schema.required?.includes(name) ? [missing] : []
    }),
  ]
}

/** Describes a key's valid values in words, for complaints and the reference. */
export function describeExpected(schema: KeySchema): string {
  if (schema.anyOf) return choices(schema.anyOf)
  switch (schema.type) {
    case 'boolean':
      return 'true or false'
    case 'integer':
      return `a whole number from ${schema.minimum ?? 0} to ${schema.maximum ?? Number.MAX_SAFE_INTEGER}`
    case 'number':
      return schema.exclusiveMinimum === undefined ? 'a number' : `a number above ${schema.exclusiveMinimum}`
    case 'array':
      return listExpectation(schema)
    case 'object':
      return 'a table'
    case 'string':
    case undefined:
      return schemaFormat(schema)?.expected ?? 'a string'
  }
}

function listExpectation({ minItems, items = {} }: KeySchema): string {
  if (items.type === 'object') return 'a list of tables'
  const count = minItems ? 'one or more ' : ''
  if (items.anyOf) return `a list of ${count}values from ${choices(items.anyOf)}`
  return `a list of ${count}${schemaFormat(items)?.plural ?? 'strings'}`
}

/** Formats choices as `"info", "warn" or "error"`. */
function choices(anyOf: NonNullable<KeySchema['anyOf']>): string {
  const quoted = anyOf.map((choice) => `"${choice.const}"`)
  return quoted.length === 1 ? quoted[0]! : `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)!}`
}

function describe(value: unknown, secret = false): string {
  if (secret) return 'a value (hidden)'
  if (value instanceof Date) return 'a date'
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value === 'object') return 'a table'
  if (typeof value === 'string') return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value)
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : typeof value
}
