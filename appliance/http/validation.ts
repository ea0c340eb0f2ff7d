/** Explains schema violations in plain words: the field, and the values that it accepts. */
import type { FastifySchemaValidationError } from 'fastify/types/schema.js'
import { refuse, type Refusal } from '../mail/refusals.ts'

/** Maximum length of a field name in the response, because it comes from the caller. */
const MAX_FIELD = 100

interface Schema {
  type?: string
  items?: Schema
  anyOf?: Schema[]
  enum?: unknown[]
  const?: unknown
}

/** Ajv's error with `verbose`. */
type Finding = FastifySchemaValidationError & { parentSchema?: Schema }

/**
 * Creates the refusal for a body that doesn't match its schema. Among the errors about a union, the one deepest in the
 * body is the most specific. At equal depth, the last one is, which is about the union as a whole.
 */
export function createValidationRefusal(findings: FastifySchemaValidationError[]): Refusal {
  const depth = ({ instancePath }: Finding) => instancePath.split('/').length
  const [first, ...others] = findings as [Finding, ...Finding[]]
  const finding = others.reduce((best, next) => (depth(next) >= depth(best) ? next : best), first)
  if (finding.keyword === 'required') {
    const missing = String(finding.params.missingProperty)
    return refuse('missing_field', { field: fieldName(`${finding.instancePath}/${missing}`) })
  }
  const kinds = describe(finding.parentSchema ?? {})
  const field = finding.instancePath === '' ? 'request.body' : fieldName(finding.instancePath)
  return refuse('invalid_field', { field, expected: `it must be ${kinds.join(' or ')}` })
}

/** Converts `/attachments/0/filename` to `attachments[0].filename`. */
function fieldName(pointer: string): string {
  const [first = '', ...rest] = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  const name = first + rest.map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`)).join('')
  return name.length > MAX_FIELD ? `${name.slice(0, MAX_FIELD).toWellFormed()}…` : name
}

/** Describes the values that a schema accepts. null is tolerated in many places, but not worth recommending. */
function describe(schema: Schema): string[] {
  if (schema.anyOf) return [...new Set(schema.anyOf.flatMap(describe))]
  if (schema.const !== undefined) return [JSON.stringify(schema.const)]
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value))
  switch (schema.type) {
    case 'null':
      return []
    case 'string':
      return ['a string']
    case 'array':
      return [schema.items?.type ? `an array of ${schema.items.type}s` : 'an array']
    case 'integer':
    case 'object':
      return [`an ${schema.type}`]
    default:
      return [`a ${schema.type ?? 'different value'}`]
  }
}
