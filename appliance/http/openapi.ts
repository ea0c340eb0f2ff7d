/** The OpenAPI 3.1 document, made from the schemas that the routes are checked against. Pure, but for collecting the routes. */
import { setImmediate } from 'node:timers/promises'
import type { RouteOptions } from 'fastify'
import { TAGS, type Access, type OperationSchema } from '../api/operation.ts'
import type { App } from './deps.ts'
import {
  components,
  componentsUsed,
  referring,
  type Schema,
  type DescribedRoute,
  type Response,
  type RouteFacts,
  type Content,
} from './openapi-components.ts'
import { errorResponses, errorsOf, nameOf } from './openapi-errors.ts'
import { exampleOf } from './openapi-examples.ts'
import { INTRODUCTION } from './openapi-introduction.ts'

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  description: string
  schema: Schema
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

const isDescribed = (route: RouteFacts): route is DescribedRoute => route.contract !== undefined

/**
 * The document of these routes. Takes a tenth of a second of processor time, during which others have their turns.
 * @param version of the program
 */
export async function apiDocument(routes: readonly RouteFacts[], version: string): Promise<ApiDocument> {
  const named = components()
  const paths: ApiDocument['paths'] = {}
  const documented = routes.filter(isDescribed)
  for (const route of documented) {
    await setImmediate()
    const path = route.url.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, named) }
  }
  const tags = TAGS.filter(({ name }) => documented.some(({ contract }) => contract.tags[0] === name))
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

function operation(route: DescribedRoute, named: Map<string, string>): Operation {
  const { operationId, tags, summary, description, deprecated } = route.contract
  const parameters = parametersOf(route.contract)
  const responses: Operation['responses'] = {}
  for (const [status, schema] of Object.entries(route.responses))
    responses[status] =
      'content' in schema
        ? (schema as Response)
        : { description: schema.description ?? 'OK', content: json(schema, named) }
  for (const status of errorsOf(route))
    responses[status] = { $ref: `#/components/responses/${nameOf(status)}` }
  return {
    operationId,
    tags: [...tags],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(deprecated ? { deprecated: true as const } : {}),
    security: SECURITY[route.access],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body === undefined
      ? {}
      : { requestBody: requestBody(route.body, named, route.contract.consumes) }),
    responses,
  }
}

function requestBody(
  schema: Schema,
  named: Map<string, string>,
  type = 'application/json',
): NonNullable<Operation['requestBody']> {
  const words = schema.description ?? schema.anyOf?.find(({ description }) => description)?.description
  return {
    ...(words === undefined ? {} : { description: words }),
    required: !allowsNull(schema),
    content: { [type]: json(schema, named)['application/json']! },
  }
}

const allowsNull = ({ anyOf }: Schema): boolean => anyOf?.some(({ type }) => type === 'null') ?? false

function json(schema: Schema, named: Map<string, string>): Content {
  return { 'application/json': { schema: referring(schema, named), example: exampleOf(schema) } }
}

function declared(place: Parameter['in'], schema: Schema | undefined): Parameter[] {
  return Object.entries(schema?.properties ?? {}).map(([name, { description = '', ...rest }]) => ({
    name,
    in: place,
    required: schema?.required?.includes(name) ?? false,
    description,
    schema: rest,
  }))
}

const parametersOf = ({ params, querystring, headers }: OperationSchema): Parameter[] => [
  ...declared('path', params),
  ...declared('query', querystring),
  ...declared('header', headers),
]
