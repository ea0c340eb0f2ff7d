/** What one operation of the API takes and returns, and what the documentation says of it. */
import { Type, type TSchema } from 'typebox'

/**
 * Who may use an operation. public: anyone · sending: every key, and people · full: keys with full access, and people ·
 * people: the dashboard only
 */
export type Access = 'public' | 'sending' | 'full' | 'people'

/** A response that is not JSON. */
export interface OtherContent {
  description: string
  content: Record<string, { schema: TSchema }>
}

/** The schema of a route as Fastify takes it, with the texts of the OpenAPI document. */
export interface OperationSchema {
  /** Unique. Client generators make method names of it. */
  operationId: string
  /** One of `TAGS`. */
  tags: readonly [string]
  /** A few words. */
  summary: string
  /** Whole sentences: effects and limits. */
  description?: string
  deprecated?: true
  params?: TSchema
  querystring?: TSchema
  headers?: TSchema
  body?: TSchema
  /** By status. */
  response: Readonly<Record<number, TSchema | OtherContent>>
  /** Error statuses that do not follow from the rest. */
  errors?: readonly string[]
}

export interface Operation<S extends OperationSchema = OperationSchema> {
  method: Method
  /** As the router takes it: `/emails/:id`. */
  url: string
  access: Access
  schema: S
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Defines an operation. @param route method and path: `GET /emails/:id` */
export function operation<const S extends OperationSchema>(
  route: `${Method} /${string}`,
  schema: S,
  access: Access = 'full',
): Operation<S> {
  const [method, url] = route.split(' ') as [Method, string]
  return { method, url, access, schema }
}

/** A response that is not JSON: text or octets of a media type. */
export const other = (type: string, description: string): OtherContent => ({
  description,
  content: { [type]: { schema: Type.String() } },
})
