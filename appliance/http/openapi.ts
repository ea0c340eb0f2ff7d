/** The OpenAPI 3.1 document, made from the schemas that the routes are checked against. Pure, but for collecting the routes. */
import { setImmediate } from 'node:timers/promises'
import type { RouteOptions } from 'fastify'
import type { Access, OperationSchema } from '../api/operation.ts'
import type { App } from './deps.ts'
import { components, componentsUsed, referring, type Schema } from './openapi-components.ts'
import { errorResponses, errorsOf, nameOf } from './openapi-errors.ts'
import { exampleOf } from './openapi-examples.ts'
import { OPERATIONS, PARAMETERS, TAGS, type OperationNotes } from './openapi-operations.ts'
import { INTRODUCTION } from './openapi-introduction.ts'

/** One route as the document needs it. */
export interface RouteFacts {
  method: string
  /** As the router has it: `/emails/:id`. */
  url: string
  access: Access
  body: Schema | undefined
  /** By status. */
  responses: Record<string, Schema>
  /** What the operation's contract says; undefined where the table of operations still does. */
  contract: OperationSchema | undefined
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  description: string
  schema: Schema
}

interface Content {
  'application/json'?: { schema: Schema; example?: unknown }
  [type: string]: { schema: Schema; example?: unknown } | undefined
}

export interface Response {
  description: string
  content?: Content
}

export interface Operation {
  operationId: string
  tags: string[]
  summary: string
  description?: string
  deprecated?: true
  security: Record<string, string[]>[]
  parameters?: Parameter[]
  requestBody?: { description?: string; required: boolean; content: Content }
  responses: Record<string, Response | { $ref: string }>
}

export interface ApiDocument {
  openapi: '3.1.1'
  info: { title: string; version: string; description: string }
  servers: { url: string }[]
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  components: {
    schemas: Record<string, Schema>
    responses: Record<string, Response>
    securitySchemes: Record<string, object>
  }
}

/** Remembers every route that is added from now on. HEAD goes without saying (RFC 9110 §9.3.2). */
export function collectRoutes(app: App): RouteFacts[] {
  const routes: RouteFacts[] = []
  app.addHook('onRoute', (route: RouteOptions) => {
    for (const method of [route.method].flat()) {
      if (method === 'HEAD') continue
      routes.push({
        method,
        url: route.url,
        access: route.config?.access ?? 'full',
        body: route.schema?.body as Schema | undefined,
        responses: (route.schema?.response ?? {}) as Record<string, Schema>,
        contract:
          route.schema && 'operationId' in route.schema ? (route.schema as OperationSchema) : undefined,
      })
    }
  })
  return routes
}

/** Routes that are no part of the API: pages and files for browsers. */
const isPage = ({ url }: Pick<RouteFacts, 'url'>): boolean =>
  url === '/' || /^\/(dashboard|docs|shared)(\/|$)/.test(url)

/** What the table of operations says of a route; a route that it forgot is in the document all the same. */
function notesOf({ method, url, contract }: RouteFacts): OperationNotes {
  if (contract) {
    const { operationId: id, tags, summary, description, deprecated, errors } = contract
    return {
      ...{ id, tag: tags[0], summary },
      ...(description !== undefined && { description }),
      ...(deprecated && { deprecated }),
      ...(errors && { errors: [...errors] }),
    }
  }
  const key = `${method} ${url}`
  return OPERATIONS[key] ?? { id: key.replaceAll(/\W+/g, '_'), tag: 'Service', summary: key }
}

/**
 * The document of these routes. Takes a tenth of a second of processor time, during which others have their turns.
 * @param version of the program
 */
export async function apiDocument(routes: readonly RouteFacts[], version: string): Promise<ApiDocument> {
  const named = components()
  const paths: ApiDocument['paths'] = {}
  const place = ({ method, url }: RouteFacts) => ORDER.get(`${method} ${url}`) ?? ORDER.size
  const documented = routes
    .filter((route) => !isPage(route))
    .toSorted((a, b) => place(a) - place(b))
    .map((route) => ({ route, notes: notesOf(route) }))
  for (const { route, notes } of documented) {
    await setImmediate()
    const path = route.url.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, notes, named) }
  }
  const tags = TAGS.filter(({ name }) => documented.some(({ notes }) => notes.tag === name))
  const document: ApiDocument = {
    openapi: '3.1.1',
    info: { title: 'Posthaste', version, description: INTRODUCTION },
    servers: [{ url: '/' }],
    tags,
    paths,
    components: {
      schemas: {},
      responses: errorResponses(),
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key: `Authorization: Bearer re_…`.' },
        session: {
          ...{ type: 'apiKey', in: 'cookie', name: 'posthaste_session' },
          description: 'The dashboard. Over HTTPS, the cookie is named `__Host-posthaste_session`.',
        },
      },
    },
  }
  await setImmediate()
  document.components.schemas = await componentsUsed(document, named)
  return document
}

const SECURITY: Record<Access, Operation['security']> = {
  public: [],
  people: [{ session: [] }],
  sending: [{ apiKey: [] }, { session: [] }],
  full: [{ apiKey: [] }, { session: [] }],
}

const ORDER = new Map(Object.keys(OPERATIONS).map((key, index) => [key, index]))

function operation(route: RouteFacts, notes: OperationNotes, named: Map<string, string>): Operation {
  const parameters = parametersOf(route, notes)
  const responses: Operation['responses'] = {}
  for (const [status, schema] of Object.entries(route.responses))
    responses[status] =
      'content' in schema
        ? (schema as Response)
        : { description: schema.description ?? 'OK', content: json(schema, named) }
  if (notes.answers)
    responses['200'] = {
      description: notes.answers.description,
      content: { [notes.answers.type]: { schema: { type: 'string' } } },
    }
  for (const status of errorsOf(route, notes))
    responses[status] = { $ref: `#/components/responses/${nameOf(status)}` }
  const { description } = notes
  return {
    operationId: notes.id,
    tags: [notes.tag],
    summary: notes.summary,
    ...(description === undefined ? {} : { description }),
    ...(notes.deprecated ? { deprecated: true as const } : {}),
    security: SECURITY[route.access],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body === undefined ? {} : { requestBody: requestBody(route.body, named) }),
    responses,
  }
}

function requestBody(schema: Schema, named: Map<string, string>): NonNullable<Operation['requestBody']> {
  const words = schema.description ?? schema.anyOf?.find(({ description }) => description)?.description
  return {
    ...(words === undefined ? {} : { description: words }),
    required: !allowsNull(schema),
    content: json(schema, named),
  }
}

const allowsNull = ({ anyOf }: Schema): boolean => anyOf?.some(({ type }) => type === 'null') ?? false

function json(schema: Schema, named: Map<string, string>): Content {
  return { 'application/json': { schema: referring(schema, named), example: exampleOf(schema) } }
}

/** What stands before a dot tells parameters of one name apart. */
const nameOfParameter = (key: string): string => key.slice(key.lastIndexOf('.') + 1)

function declared(place: Parameter['in'], schema: Schema | undefined): Parameter[] {
  return Object.entries(schema?.properties ?? {}).map(([name, { description = '', ...rest }]) => ({
    name,
    in: place,
    required: schema?.required?.includes(name) ?? false,
    description,
    schema: rest,
  }))
}

function parametersOf({ url, contract }: RouteFacts, notes: OperationNotes): Parameter[] {
  if (contract)
    return [
      ...declared('path', contract.params),
      ...declared('query', contract.querystring),
      ...declared('header', contract.headers),
    ]
  const path = [...url.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    name,
    in: 'path' as const,
    required: true,
    ...(notes.path?.[name] ?? {
      description: 'The id.',
      schema: { type: 'string', format: 'uuid' },
    }),
  }))
  const others = [
    ...(notes.query ?? []).map((name) => ({ name, in: 'query' as const })),
    ...(notes.headers ?? []).map((name) => ({ name, in: 'header' as const })),
  ]
  return [
    ...path,
    ...others.map((own) => ({
      ...own,
      name: nameOfParameter(own.name),
      required: false,
      ...PARAMETERS[own.name]!,
    })),
  ]
}
