/** The hosted service's document: which operations there are, and whether an answer fits one. */
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

/** One path and method of the document, or of the client alone. */
export interface UpstreamOperation {
  /** `GET /emails/{email_id}` */
  key: string
  method: string
  path: string
  /** By status. */
  answers: Record<string, Schema>
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

const document = parse(readFileSync(join(import.meta.dirname, 'openapi-upstream.yaml'), 'utf8')) as Document

/** Every operation, in the order of the document; what only the client has comes last. */
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

/** The text form of instants on the REST interface (reference: wire format §1.3). */
const TIMESTAMP = String.raw`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?\+00$`

/**
 * The schema as it is meant: references resolved, every field required that no deviation names, and formats that the
 * document only tells in examples.
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
  // The document is OpenAPI 3.1 and still writes `nullable` as in 3.0.
  return nullable === true ? orNull(own) : own
}

const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] })

/** The schema with the deviations of its operation. */
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

/** The operation that a request is for: a path without parameters wins over one with. */
export function operationFor(method: string, path: string): UpstreamOperation | undefined {
  const fits = OPERATIONS.filter(
    (one) => one.method === method && new RegExp(`^${one.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  )
  return fits.toSorted((a, b) => a.path.split('{').length - b.path.split('{').length)[0]
}

/** What is wrong with a successful answer; empty when nothing is. */
export function faultsOf(operation: UpstreamOperation, status: number, body: unknown): string[] {
  const fits = validator(operation, status)
  if (!fits)
    return [`${operation.key} does not answer ${status}: ${Object.keys(operation.answers).join(', ')}`]
  if (fits(body)) return []
  return fits.errors!.map(({ instancePath, message }) => `${operation.key}: ${instancePath} ${message}`)
}

/** Deviations whose operation or status the document does not have: leftovers. */
export const staleDeviations = (): string[] =>
  DEVIATIONS.filter(({ at }) => {
    const [method, path, status] = at.split(' ') as [string, string, string]
    return !OPERATIONS.some((one) => one.key === `${method} ${path}` && status in one.answers)
  }).map(({ at }) => at)
