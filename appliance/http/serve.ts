/** Adds routes for the API's operations. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type {
  FastifyContextConfig,
  FastifySchema,
  RawServerDefault,
  RouteGenericInterface,
  RouteHandlerMethod,
  RouteShorthandOptions,
} from 'fastify'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Operation, OperationSchema } from '../api/operation.ts'
import type { Logger } from '../watch/log.ts'
import type { App } from './deps.ts'

/** Handler of an operation's requests: params, query and body have the types of its schema. */
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

/** Options of a route: restrictions beyond the operation's `access`, logging, and limits. */
interface Options extends Omit<FastifyContextConfig, 'access'> {
  /** The handler refuses a body that doesn't match its schema. */
  attachValidation?: true
  preValidation?: RouteShorthandOptions['preValidation']
  preHandler?: RouteShorthandOptions['preHandler']
  logLevel?: 'warn'
  bodyLimit?: number
  exposeHeadRoute?: false
}

/** Adds the route of an operation. It responds with the first status of the schema, unless the handler sets another. */
export function serve<S extends OperationSchema>(
  app: App,
  { method, url, access, schema }: Operation<S>,
  { attachValidation, preValidation, preHandler, logLevel, bodyLimit, exposeHeadRoute, ...config }: Options,
  handler: Answer<S>,
): void {
  const status = Number(Object.keys(schema.response)[0])
  app.route<RouteGenericInterface, FastifyContextConfig, S>({
    method,
    url,
    schema,
    handler: status === 200 ? handler : withStatus(status, handler),
    config: { ...config, access },
    ...(attachValidation && { attachValidation }),
    ...(preValidation && { preValidation }),
    ...(preHandler && { preHandler }),
    ...(logLevel && { logLevel }),
    ...(bodyLimit !== undefined && { bodyLimit }),
    ...(exposeHeadRoute !== undefined && { exposeHeadRoute }),
  })
}

/** Sets the status of the response before the handler runs. */
const withStatus = <S extends OperationSchema>(status: number, handler: Answer<S>): Answer<S> =>
  function (request, reply) {
    void reply.code(status)
    return handler.call(this, request, reply)
  }
