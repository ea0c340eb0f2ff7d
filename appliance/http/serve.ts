/** Adds the routes of the API's operations. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type {
  FastifyContextConfig,
  FastifySchema,
  RawServerDefault,
  RouteGenericInterface,
  RouteHandlerMethod,
} from 'fastify'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Operation, OperationSchema } from '../api/operation.ts'
import type { Logger } from '../watch/log.ts'
import type { App } from './deps.ts'

/** Answers requests for an operation: params, query and body have the types of its schema. */
type Answer<S extends FastifySchema> = RouteHandlerMethod<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  RouteGenericInterface,
  FastifyContextConfig,
  S,
  TypeBoxTypeProvider,
  Logger
>

/** Answers an operation by `handler`. @param config who may use it beyond `access`, and what logs say of it */
export function serve<S extends OperationSchema>(
  app: App,
  { method, url, access, schema }: Operation<S>,
  config: Omit<FastifyContextConfig, 'access'>,
  handler: Answer<S>,
): void {
  app.route<RouteGenericInterface, FastifyContextConfig, S>({
    method,
    url,
    schema,
    config: { ...config, access },
    handler,
  })
}
