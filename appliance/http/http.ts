/** The REST API and the dashboard over HTTP. What a request means is decided in the routes; here is how the server stands. */
import cookie from '@fastify/cookie'
import helmet from '@fastify/helmet'
import fastify, { LogController, type FastifyRequest } from 'fastify'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { randomBytes } from 'node:crypto'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import { guard } from './access.ts'
import { readBodies } from './body.ts'
import { serveDashboard } from './dashboard.ts'
import type { App, HttpDeps } from './deps.ts'
import { answerBadUrl, answerErrors } from './errors.ts'
import { createLinks } from './links.ts'
import { createListeners } from './listeners.ts'
import { collectRoutes } from './openapi.ts'
import { createRequestLogBuffer, type RequestLogBuffer } from './request-log-buffer.ts'
import { logApiUse } from './request-log.ts'
import { apiKeyRoutes } from './routes/api-keys.ts'
import { attachmentRoutes } from './routes/attachments.ts'
import { batchRoutes } from './routes/batch.ts'
import { domainRoutes } from './routes/domains.ts'
import { emailRoutes } from './routes/emails.ts'
import { healthRoutes } from './routes/health.ts'
import { logRoutes } from './routes/logs.ts'
import { documentRoutes } from './routes/openapi.ts'
import { sandboxRoutes } from './routes/sandbox.ts'
import { sessionRoutes } from './routes/session.ts'
import { shareRoutes } from './routes/shares.ts'
import { suppressionRoutes } from './routes/suppressions.ts'
import { usageRoutes } from './routes/usage.ts'
import { refuseInvalid } from './validation.ts'

export type { HttpDeps, SandboxInbox } from './deps.ts'

export interface Http {
  /** Binds all addresses, `host:port`, or none. Returns their origins (`http://127.0.0.1:8025`); port 0 lets the system choose. */
  listen(addresses: readonly string[]): Promise<string[]>
  /** Where the other door notes its sessions; null when nothing is kept. */
  readonly requestLog: Pick<RequestLogBuffer, 'add'> | null
  /** Takes no new requests, finishes those that run (10 s at most). */
  close(): Promise<void>
}

/** Longest path parameter: an email address in percent encoding fits. */
const MAX_PARAMETER = 1000

export async function createHttp(deps: HttpDeps): Promise<Http> {
  const app = createApp(deps)
  let closing = false
  app.decorateRequest('about')
  answerErrors(app)
  const routes = collectRoutes(app)
  readBodies(app, deps.config.messageBytes)
  await app.register(cookie)
  await secureHeaders(app)
  app.addHook('onRequest', (request, reply, done) => {
    request.about = {}
    void reply.headers({
      'x-request-id': request.id,
      // Other people's mail is in most answers; the files of the dashboard say otherwise for themselves.
      'cache-control': 'no-store',
      // Helmet says it too, but not to the apps that send: there, making its headers is 5 % of accepting.
      'x-content-type-options': 'nosniff',
    })
    if (closing) void reply.header('connection', 'close')
    done(closing ? refuse('shutting_down') : undefined)
  })
  const requestLog = createRequestLogBuffer(deps)
  if (deps.config.logApiUse) logApiUse(app, requestLog, deps)
  guard(app, deps)
  logRequests(app)

  let origin = deps.config.publicUrl ?? ''
  const secret = await deps.storage.secret({ name: 'links', fresh: randomBytes(32) }, deps.clock.now())
  const linked = { links: createLinks(secret), origin: () => origin }
  emailRoutes(app, deps)
  batchRoutes(app, deps)
  attachmentRoutes(app, deps, linked)
  shareRoutes(app, deps, linked)
  domainRoutes(app, deps)
  apiKeyRoutes(app, deps)
  suppressionRoutes(app, deps)
  sessionRoutes(app, deps)
  usageRoutes(app, deps)
  logRoutes(app, deps, requestLog)
  documentRoutes(app, routes, deps.config.version)
  healthRoutes(app, deps)
  if (deps.sandboxInbox) sandboxRoutes(app, deps.sandboxInbox)
  await serveDashboard(app, deps.dashboard)
  await app.ready()

  const listeners = createListeners((request, response) => app.routing(request, response))
  return {
    requestLog: deps.config.logApiUse ? requestLog : null,
    async listen(addresses) {
      const origins = await listeners.listen(addresses)
      if (origin === '') origin = origins[0] ?? ''
      return origins
    },
    async close() {
      closing = true
      await listeners.close()
      await app.close()
      await requestLog.flush()
    },
  }
}

/** The framework with our settings, before the first hook and route. */
function createApp(deps: HttpDeps): App {
  const app: App = fastify({
    loggerInstance: deps.log,
    genReqId: () => newId(deps.clock.now()),
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    trustProxy: deps.config.trustProxy.length > 0 ? deps.config.trustProxy : false,
    bodyLimit: deps.config.messageBytes,
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, maxParamLength: MAX_PARAMETER },
    // Fastify's own settings would turn 5 into "5" and drop fields; `verbose` is for our sentences.
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        allErrors: false,
        verbose: true,
      },
    },
    schemaErrorFormatter: refuseInvalid,
    frameworkErrors: answerBadUrl,
  }).withTypeProvider<TypeBoxTypeProvider>()
  // What goes out is made field by field in wireformat/; the schemas of answers are for the type checker and the docs.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data))
  return app
}

/** The dashboard runs no script but its own, and shows mail in frames that load nothing from elsewhere. */
async function secureHeaders(app: App): Promise<void> {
  await app.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        // Mail comes with styles in its elements.
        styleSrc: ["'self'", "'unsafe-inline'"],
        imgSrc: ["'self'", 'data:'],
        fontSrc: ["'self'"],
        connectSrc: ["'self'"],
        manifestSrc: ["'self'"],
        frameSrc: ["'self'"],
        frameAncestors: ["'none'"],
        formAction: ["'self'"],
        baseUri: ["'none'"],
      },
    },
    // Whether this host speaks HTTPS, and forever, is for the proxy in front of it to promise.
    strictTransportSecurity: false,
    xFrameOptions: { action: 'deny' },
    referrerPolicy: { policy: 'same-origin' },
  })
}

/** What logs may show of the path. */
function pathOf({ url, routeOptions }: FastifyRequest): string {
  if (routeOptions.config.secretPath) return routeOptions.url ?? ''
  return url.split('?', 1)[0]!.slice(0, 200)
}

/** One line for each request. Never headers, queries or bodies: they hold keys, passwords and other people's mail. */
function logRequests(app: App): void {
  app.addHook('onResponse', (request, reply, done) => {
    request.log.info(
      {
        method: request.method,
        path: pathOf(request),
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
        ip: request.ip,
        user_agent: request.headers['user-agent']?.slice(0, 200),
        team_id: request.caller?.teamId,
        api_key_id: request.caller?.apiKey?.id,
        ...request.about,
      },
      'request',
    )
    done()
  })
}
