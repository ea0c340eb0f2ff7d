/**
 * Generates the OpenAPI document from the operations in `appliance/api/`. Operations and components are named after the
 * exported constants.
 */
import swagger from '@fastify/swagger'
import fastify, { type FastifySchema } from 'fastify'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Schema } from '../../appliance/api/shared.ts'
import { TAGS, type Access, type Operation } from '../../appliance/api/operation.ts'
import { ERROR_NAMES, presentError } from '../../appliance/api/shared.ts'
import { REFUSALS, refuse, type RefusalKey } from '../../appliance/mail/refusals.ts'
import { createExample } from './openapi-examples.ts'

const project = join(import.meta.dirname, '..', '..')
const contracts = join(project, 'appliance', 'api')

export interface Content {
  'application/json'?: { schema: Schema; example?: unknown }
  [type: string]: { schema: Schema; example?: unknown } | undefined
}

export interface DocumentedResponse {
  description: string
  content?: Content
}

export interface DocumentedParameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  description: string
  schema: Schema
}

export interface DocumentedOperation {
  operationId: string
  tags: string[]
  summary: string
  description?: string
  deprecated?: true
  security: Record<string, string[]>[]
  parameters?: DocumentedParameter[]
  requestBody?: { description?: string; required: boolean; content: Content }
  responses: Record<string, DocumentedResponse | { $ref: string }>
}

/** The parts of OpenAPI 3.1 that the document uses. */
export interface ApiDocument {
  openapi: string
  info: { title: string; version: string; description: string }
  servers: { url: string }[]
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, DocumentedOperation>>
  components: {
    schemas: Record<string, Schema>
    responses: Record<string, DocumentedResponse>
    securitySchemes: Record<string, object>
  }
}

const SECURITY: Record<Access, DocumentedOperation['security']> = {
  public: [],
  people: [{ session: [] }],
  sending: [{ apiKey: [] }, { session: [] }],
  full: [{ apiKey: [] }, { session: [] }],
}

const SECURITY_SCHEMES = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key: `Authorization: Bearer re_…`.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'posthaste_session',
    description: 'The dashboard. Over HTTPS, the cookie is named `__Host-posthaste_session`.',
  },
} as const

type Exports = [name: string, value: unknown][]

/** Returns everything that the files of `appliance/api/` export. */
async function exported(): Promise<Exports> {
  const files = globSync('*.ts', { cwd: contracts }).sort()
  const modules = await Promise.all(
    files.map(async (file) => (await import(join(contracts, file))) as Record<string, unknown>),
  )
  return modules.flatMap((module) => Object.entries(module))
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

const isOperation = (value: unknown): value is Operation => isObject(value) && 'method' in value

/** Whether a schema becomes a component. Strings and numbers are inlined. */
const isComponent = (value: unknown): value is Schema =>
  isObject(value) && (value.type === 'object' || value.type === 'array')

/** Replaces schemas by references to components, and collects the components used. */
interface Referring {
  refer: (schema: Schema) => Schema
  used: Map<string, Schema>
}

/**
 * Compares schemas by their JSON, because wrappers such as `Type.Optional` copy them. If one shape has two names, the
 * first is used. Throws if one name stands for two shapes.
 */
function referring(all: Exports): Referring {
  const names = new Map<string, string>()
  const shapes = new Map<string, string>()
  for (const [name, schema] of all.filter(([, value]) => isComponent(value))) {
    const text = JSON.stringify(schema)
    if ((shapes.get(name) ?? text) !== text)
      throw new Error(`Two schemas are exported as ${name}: components of the API document need a name each.`)
    shapes.set(name, text)
    if (!names.has(text)) names.set(text, name)
  }
  const used = new Map<string, Schema>()
  const refer = (schema: Schema): Schema => {
    const name = names.get(JSON.stringify(schema))
    if (name === undefined) return inside(schema, refer)
    if (!used.has(name)) used.set(name, inside(schema, refer))
    return { $ref: `${name}#` }
  }
  return { refer, used }
}

/** Returns the schema with its parts replaced by references. */
function inside(schema: Schema, refer: Referring['refer']): Schema {
  const { items, anyOf, properties, patternProperties } = schema
  const each = (parts: Record<string, Schema>) =>
    Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, refer(part)]))
  return {
    ...schema,
    ...(anyOf && { anyOf: anyOf.map(refer) }),
    ...(items && { items: refer(items) }),
    ...(properties && { properties: each(properties) }),
    ...(patternProperties && { patternProperties: each(patternProperties) }),
  }
}

const isJson = (response: object): response is Schema => !('content' in response)

/** Returns the route's schema for the documentation. Fastify never validates with it. */
function routeSchema(name: string, { group, schema }: Operation, refer: Referring['refer']): FastifySchema {
  const response = Object.fromEntries(
    Object.entries(schema.response).map(([status, one]) => [status, isJson(one) ? refer(one) : one]),
  )
  const documented = { ...schema, operationId: name, tags: [group], response }
  return schema.body ? { ...documented, body: refer(schema.body) } : documented
}

const allowsNull = ({ anyOf }: Schema): boolean => anyOf?.some(({ type }) => type === 'null') ?? false

/** Adds what @fastify/swagger doesn't generate: security, errors, examples, and optional bodies. */
function complete(documented: DocumentedOperation, operation: Operation): void {
  const { body, response } = operation.schema
  documented.security = SECURITY[operation.access]
  if (documented.requestBody && body) {
    const schema = body as Schema
    const words = schema.description ?? schema.anyOf?.find(({ description }) => description)?.description
    if (words !== undefined) documented.requestBody.description = words
    documented.requestBody.required = !allowsNull(schema)
    for (const content of Object.values(documented.requestBody.content))
      content!.example = createExample(schema)
  }
  for (const [status, schema] of Object.entries(response)) {
    const answer = documented.responses[status] as DocumentedResponse
    if (isJson(schema)) answer.content!['application/json']!.example = createExample(schema)
  }
  for (const status of errorsOf(operation))
    documented.responses[status] = { $ref: `#/components/responses/${errorName(status)}` }
}

/** Returns the error statuses that an operation may respond with, ascending. */
function errorsOf({ access, url, schema: { body, querystring, errors = [] } }: Operation): string[] {
  const statuses = [
    '500',
    '503',
    ...errors,
    ...(access === 'public' ? [] : ['401', '403', '429']),
    ...(body === undefined ? [] : ['400', '413', '415', '422']),
    ...(url.includes(':') ? ['404', '422'] : []),
    ...(querystring === undefined ? [] : ['422']),
  ]
  return [...new Set(statuses)].sort()
}

function errorName(status: string): string {
  const name = ERROR_NAMES[status]
  if (name === undefined) throw new Error(`Status ${status} of a refusal needs a name in api/shared.ts.`)
  return name
}

/** Example values for placeholders in error messages. */
const PLACEHOLDERS = {
  resource: 'Email',
  parameter: 'id',
  field: 'to',
  expected: 'it must be a string',
  limit: 10,
  seconds: 1,
  domain: 'example.com',
  index: 0,
}

/** Returns a response for each HTTP status of the error catalog. */
function errorResponses(): Record<string, DocumentedResponse> {
  const byStatus = Object.groupBy(Object.keys(REFUSALS) as RefusalKey[], (key) =>
    String(REFUSALS[key].status),
  )
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, keys = []]) => {
      const names = [...new Set(keys.map((key) => `\`${REFUSALS[key].name}\``))]
      const example = presentError(refuse(keys[0]!, PLACEHOLDERS))
      const content = { 'application/json': { schema: { $ref: '#/components/schemas/ErrorBody' }, example } }
      return [errorName(status), { description: `${status}: ${names.join(', ')}.`, content }]
    }),
  )
}

const METHODS = ['POST', 'GET', 'PUT', 'PATCH', 'DELETE']

/** Orders the reference: by group, deprecated paths last, then by path. */
function byReference(a: Operation, b: Operation): number {
  const rank = ({ method, group, schema }: Operation) => [
    TAGS.findIndex(({ name }) => name === group),
    Number(schema.deprecated ?? false),
    METHODS.indexOf(method),
  ]
  const [[tag, older, method], [otherTag, otherOlder, otherMethod]] = [rank(a), rank(b)]
  const path = a.url < b.url ? -1 : Number(a.url > b.url)
  return tag! - otherTag! || older! - otherOlder! || path || method! - otherMethod!
}

/** Builds the document of all operations, including those of the sandbox. */
export async function buildOpenapiDocument(): Promise<ApiDocument> {
  const all = await exported()
  const named = all.filter((one): one is [name: string, value: Operation] => isOperation(one[1]))
  const operations = named.map(([, operation]) => operation).sort(byReference)
  const { refer, used } = referring(all)
  const names = new Map(named.map(([name, operation]) => [operation, name]))
  const routes = operations.map((one) => ({ ...one, schema: routeSchema(names.get(one)!, one, refer) }))
  refer(all.find(([name]) => name === 'ErrorBody')![1] as Schema)

  const { version } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as { version: string }
  const description = readFileSync(join(contracts, 'introduction.md'), 'utf8').trim()
  const app = fastify({ exposeHeadRoutes: false })
  app.setValidatorCompiler(() => () => true).setSerializerCompiler(() => () => '')
  await app.register(swagger, {
    convertConstToEnum: false,
    refResolver: { buildLocalReference: ({ $id }) => $id as string },
    openapi: {
      openapi: '3.1.1',
      info: { title: 'Posthaste', version, description },
      servers: [{ url: '/' }],
      tags: TAGS.filter(({ name }) => operations.some(({ group }) => group === name)),
      components: { securitySchemes: SECURITY_SCHEMES },
    },
  })
  for (const [name, schema] of [...used].sort(([a], [b]) => (a < b ? -1 : 1)))
    app.addSchema({ $id: name, ...schema })
  app.after(() => routes.forEach((route) => app.route({ ...route, handler })))
  await app.ready()

  const document = app.swagger() as unknown as ApiDocument
  document.components.responses = errorResponses()
  for (const operation of operations) {
    const path = operation.url.replaceAll(/:(\w+)/g, '{$1}')
    complete(document.paths[path]![operation.method.toLowerCase()]!, operation)
  }
  await app.close()
  return document
}

const handler = (): undefined => undefined

/** Renders the document as a file. */
export const renderOpenapi = async (): Promise<string> =>
  `${JSON.stringify(await buildOpenapiDocument(), null, 2)}\n`
