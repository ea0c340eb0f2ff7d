import * as fc from '../world/fast-check.ts'
import type { Schema } from '../../appliance/api/shared.ts'

/** Values that break careless code. */
export const nasty = fc.constantFrom<unknown>(
  null,
  '',
  ' ',
  [],
  {},
  0,
  -1,
  1e308,
  true,
  [[]],
  [null],
  { a: {} },
  '\r\n',
  '\0',
  '\ud800',
  '\u2028',
  'a@b.example\r\nBcc: x@example.com',
  '__proto__',
  'constructor',
  '=?utf-8?q?=0d=0a?=',
  '🚀'.repeat(300),
  'x'.repeat(70_000),
  { toString: 1 },
  { length: -1 },
  { type: 'Buffer', data: 'x' },
  ['a@example.com'],
)

export const anything = fc.oneof(nasty, fc.jsonValue(), fc.string({ unit: 'binary' }))

/** Strings with a meaning in one field or another. */
const words = fc.constantFrom(
  'Acme <hi@acme.example>',
  'bob@example.com',
  'sub.acme.example',
  'xn--mnchen-3ya.example',
  'in 1 hour',
  '2026-12-01T09:00:00Z',
  'full_access',
  'sending_access',
  'us-east-1',
  'permissive',
  '10m',
  'QUJD',
)

/** Generates values that match a schema's types. Components are looked up in `named`. */
export function fitting(schema: Schema, named: Record<string, Schema>): fc.Arbitrary<unknown> {
  if (schema.$ref !== undefined) return fitting(named[schema.$ref.split('/').at(-1)!]!, named)
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((part) => fitting(part, named)))
  if ('const' in schema) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.type === 'array') return fc.array(fitting(schema.items ?? {}, named), { maxLength: 3 })
  if (schema.type === 'object') return fittingObject(schema, named)
  if (schema.type === 'integer' || schema.type === 'number') return fc.integer()
  if (schema.type === 'boolean') return fc.boolean()
  if (schema.type === 'null') return fc.constant(null)
  return schema.type === 'string' ? fc.oneof({ weight: 3, arbitrary: words }, fc.string()) : anything
}

function fittingObject(schema: Schema, named: Record<string, Schema>): fc.Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties } = schema
  if (typeof additionalProperties === 'object')
    return fc.dictionary(fc.string({ maxLength: 20 }), fitting(additionalProperties, named), { maxKeys: 3 })
  const fields = Object.entries(properties).map(([name, part]) => [name, fitting(part, named)] as const)
  return fc.record(Object.fromEntries(fields), {
    requiredKeys: required.filter((name) => name in properties),
  })
}

/** A path into a body, as numbers that choose among what is there. */
export const place = fc.array(fc.nat(), { minLength: 1, maxLength: 4 })

/** Returns a copy of `value` with the element at the path `steps` replaced. */
export function replaced(value: unknown, [step, ...rest]: number[], by: unknown): unknown {
  if (step === undefined || typeof value !== 'object' || value === null) return by
  const keys = Object.keys(value)
  if (keys.length === 0) return by
  const key = keys[step % keys.length]!
  const next = replaced((value as Record<string, unknown>)[key], rest, by)
  if (Array.isArray(value)) return value.with(Number(key), next)
  return Object.fromEntries(Object.entries(value).map(([name, old]) => [name, name === key ? next : old]))
}
