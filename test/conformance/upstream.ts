/** The hosted service's document: its operations, and whether a response matches. */
import addFormats from 'ajv-formats'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { ADDED, DEVIATIONS, type Schema } from './deviations.ts'

interface Document {
  paths: Record<string, Record<string, { summary?: string; responses?: Record<string, Answer> }>>
  components: { schemas: Record<string, Schema> }
}

interface Answer {
  content?: Record<string, { schema: Schema }>
}

/** A path and method of the document, or of the client alone. */
export interface UpstreamOperation {
  /** `GET /emails/{email_id}` */
  key: string
  method: string
  path: string
  /** Response schemas by status. */
  answers: Record<string, Schema>
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

const document = parse(readFileSync(join(import.meta.dirname, 'openapi-upstream.yaml'), 'utf8')) as Document

/** Every operation, in the document's order, followed by those that only the client has. */
export const OPERATIONS: readonly UpstreamOperation[] = [
  ...Object.entries(document.paths).flatMap(([path, methods]) =>
    METHODS.filter((method) => methods[method]).map((method) => {
      const key = `${method.toUpperCase()} ${path}`
      const answers = Object.entries(methods[method]!.responses ?? {}).flatMap(([status, { content }]) => {
        const schema = content?.['application/json']?.schema
        return schema ? [[status, schema] as const] : []
      })
      return { key, method: method.toUpperCase(), path, answers: Object.fromEntries(answers) }
    }),
  ),
  ...Object.entries(ADDED).map(([key, answers]) => {
    const [method = '', path = ''] = key.split(' ')
    return { key, method, path, answers }
  }),
]

/** The format of timestamps in the REST API (reference: wire format §1.3). */
const TIMESTAMP = String.raw`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?\+00$`

/**
 * Returns the strict version of a schema: references resolved, every field required unless a deviation names it, and
 * formats that the document shows only in examples.
 */
function strict(schema: Schema, name = ''): Schema {
  if (schema.$ref !== undefined)
    return strict(document.components.schemas[schema.$ref.split('/').at(-1)!]!, name)
  if (schema.allOf?.length === 1) return strict(schema.allOf[0]!, name)
  const { nullable, properties, items, required: _loose, ...rest } = schema
  const own: Schema = { ...rest }
  if (properties) {
    own.properties = Object.fromEntries(
      Object.entries(properties).map(([field, part]) => [field, strict(part, field)]),
    )
    own.required = Object.keys(properties)
  }
  if (items) own.items = strict(items, name)
  if (own.type === 'string' && name === 'id') own.format = 'uuid'
  if (own.type === 'string' && name.endsWith('_at') && own.format === undefined) own.pattern = TIMESTAMP
  if (name === 'object' && typeof own.example === 'string') own.const = own.example
  // The document is OpenAPI 3.1 but still uses `nullable` from 3.0.
  return nullable === true ? orNull(own) : own
}

const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] })

/** Returns the schema with its operation's deviations applied. */
function corrected(at: string, schema: Schema): Schema {
  let whole = strict(schema)
  for (const { path = [], optional = [], nullable = [], instead } of DEVIATIONS.filter(
    (one) => one.at === at,
  )) {
    if (instead) whole = strict(instead)
    const place = path.reduce((part, step) => (step === '[]' ? part.items! : part.properties![step]!), whole)
    const properties = place.properties!
    for (const field of [...optional, ...nullable])
      if (!(field in properties)) throw new Error(`deviation at ${at}: there is no field ${field}`)
    place.required = place.required!.filter((field) => !optional.includes(field))
    for (const field of nullable) properties[field] = orNull(properties[field]!)
  }
  return whole
}

const ajv = new Ajv2020({ strict: false, allErrors: true })
addFormats.default(ajv)
const compiled = new Map<string, ValidateFunction>()

function validator({ key, answers }: UpstreamOperation, status: number): ValidateFunction | undefined {
  const at = `${key} ${status}`
  const schema = answers[status]
  if (!schema) return undefined
  const known = compiled.get(at) ?? ajv.compile(corrected(at, schema))
  compiled.set(at, known)
  return known
}

/** Returns a request's operation. A path without parameters wins over one with parameters. */
export function operationFor(method: string, path: string): UpstreamOperation | undefined {
  const fits = OPERATIONS.filter(
    (one) => one.method === method && new RegExp(`^${one.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  )
  return fits.toSorted((a, b) => a.path.split('{').length - b.path.split('{').length)[0]
}

/** Returns the faults of a successful response; empty if there are none. */
export function faultsOf(operation: UpstreamOperation, status: number, body: unknown): string[] {
  const fits = validator(operation, status)
  if (!fits)
    return [`${operation.key} does not answer ${status}: ${Object.keys(operation.answers).join(', ')}`]
  if (fits(body)) return []
  return fits.errors!.map(({ instancePath, message }) => `${operation.key}: ${instancePath} ${message}`)
}

/** Returns stale deviations, whose operation or status isn't in the document. */
export const staleDeviations = (): string[] =>
  DEVIATIONS.filter(({ at }) => {
    const [method, path, status] = at.split(' ') as [string, string, string]
    return !OPERATIONS.some((one) => one.key === `${method} ${path}` && status in one.answers)
  }).map(({ at }) => at)
