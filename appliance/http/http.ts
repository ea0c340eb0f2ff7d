/** The HTTP server with the REST API and the dashboard. The routes handle requests; this file sets up the server. */
import cookie from '@fastify/cookie'
import fastify, { LogController, type FastifyRequest } from 'fastify'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { randomBytes } from 'node:crypto'
import { createEmailContentReader } from '../intake/intake.ts'
import { isId, newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import { requireAuthentication } from './access.ts'
import { restrictPeopleRoutes, type ListenerHandlers } from './admin-listener.ts'
import { registerAuditHooks } from './audited.ts'
import { registerBodyParser } from './body.ts'
import { chunkLargeResponses } from './budget.ts'
import { serveDashboard } from './dashboard.ts'
import type { App, HttpDeps } from './deps.ts'
import { handleBadUrl, handleErrors, refuseUnsupported } from './errors.ts'
import { addEtags } from './etag.ts'
import { normalizeBodies } from './lenient.ts'
import { createLinkSigner } from './links.ts'
import { createLiveStreams } from './live.ts'
import { createListeners, type ListenerOptions } from './listeners.ts'
import { createPasswordThrottle } from './own-account.ts'
import { createRequestLogBuffer, type RequestLogBuffer } from './request-log-buffer.ts'
import { logApiRequests } from './request-log.ts'
import { accountFactorRoutes } from './routes/account-factors.ts'
import { accountRoutes } from './routes/account.ts'
import { apiKeyRoutes } from './routes/api-keys.ts'
import { attachmentRoutes, type LinkDeps } from './routes/attachments.ts'
import { auditRoutes } from './routes/audit.ts'
import { batchRoutes } from './routes/batch.ts'
import { contactBatchRoutes } from './routes/contact-batches.ts'
import { contactImportRoutes } from './routes/contact-imports.ts'
import { contactRoutes } from './routes/contacts.ts'
import { doctorRoutes } from './routes/doctor.ts'
import { domainRoutes, propagationRoutes } from './routes/domains.ts'
import { insightRoutes } from './routes/insights.ts'
import { emailPreviewRoutes } from './routes/email-preview.ts'
import { emailSearchRoutes } from './routes/email-search.ts'
import { emailResendRoutes } from './routes/email-resend.ts'
import { emailRoutes } from './routes/emails.ts'
import { providerRuleRoutes } from './routes/provider-rules.ts'
import { erasureRoutes, retentionRoutes } from './routes/retention.ts'
import { invitationRoutes } from './routes/invitations.ts'
import { archiveRoutes } from './routes/archive.ts'
import { archivePageRoutes } from './routes/archive-pages.ts'
import { formRoutes } from './routes/forms.ts'
import { signUpRoutes } from './routes/sign-ups.ts'
import { imageRoutes } from './routes/images.ts'
import { identityRoutes } from './routes/identities.ts'
import { liveRoutes } from './routes/live.ts'
import { logRoutes } from './routes/logs.ts'
import { memberRoutes } from './routes/members.ts'
import { metricsRoutes, measureRequests, prometheusRoutes } from './routes/metrics.ts'
import { healthRoutes, nodeRoutes } from './routes/nodes.ts'
import { documentRoutes } from './routes/openapi.ts'
import { postmasterRoutes, returnedMessageRoutes } from './routes/received.ts'
import { receivingRoutes } from './routes/receiving.ts'
import { reportRoutes } from './routes/reports.ts'
import { receivingRuleRoutes } from './routes/receiving-rules.ts'
import { queueRoutes } from './routes/queue.ts'
import { resetRoutes } from './routes/reset.ts'
import { sandboxRoutes } from './routes/sandbox.ts'
import { secondStepRoutes } from './routes/second-step.ts'
import { broadcastVersionRoutes } from './routes/broadcast-versions.ts'
import { broadcastRoutes } from './routes/broadcasts.ts'
import { segmentRoutes } from './routes/segments.ts'
import { sessionRoutes } from './routes/session.ts'
import { setupRoutes } from './routes/set-up.ts'
import { shareRoutes } from './routes/shares.ts'
import { shapingRoutes } from './routes/shaping.ts'
import { signInProviderRoutes } from './routes/sign-in-providers.ts'
import { sourceRoutes } from './routes/sources.ts'
import { suppressionRoutes } from './routes/suppressions.ts'
import { teamsRoutes } from './routes/teams.ts'
import { preferenceRoutes } from './routes/preferences.ts'
import { trackingRoutes } from './routes/tracking.ts'
import { tlsRoutes, acmeRoutes, certificateRoutes, policyRoutes } from './routes/tls.ts'
import { templateRoutes } from './routes/templates.ts'
import { alertRoutes } from './routes/alerts.ts'
import { automationRoutes } from './routes/automations.ts'
import { customEventRoutes } from './routes/custom-events.ts'
import { topicRoutes } from './routes/topics.ts'
import { unsubscribePageRoutes } from './routes/unsubscribe-page.ts'
import { usageRoutes } from './routes/usage.ts'
import { webhookRoutes } from './routes/webhooks.ts'
import { SECURITY_HEADERS } from './security-headers.ts'
import { createSignInThrottle, type SignInThrottle } from './sign-in-throttle.ts'
import { parseNetworks } from '../wire/networks.ts'
import { createValidationRefusal } from './validation.ts'
import { buildValidator } from './validators.ts'
import { setDeviceCookies } from './browser-name.ts'

export type { HttpDeps, SandboxInbox } from './deps.ts'

export interface Http {
  /**
   * Binds all addresses (`host:port`) or none. Returns their origins (`http://127.0.0.1:8025`); port 0 lets the system
   * choose.
   * @param setting the key of `[http]` they come from, which decides what is served there, and whether over TLS
   */
  listen(addresses: readonly string[], setting?: HttpSetting): Promise<string[]>
  /** The request log, for the sessions of the SMTP server; null when no requests are kept. */
  readonly requestLog: Pick<RequestLogBuffer, 'add'> | null
  /** Accepts no new requests, and lets running ones finish (10 s at most). */
  close(): Promise<void>
}

/** The settings with listening addresses. */
export type HttpSetting = 'listen' | 'tls_listen' | 'admin_listen' | 'admin_tls_listen'

/** Maximum length of a path parameter; a percent-encoded address fits. */
const MAX_PARAMETER = 1000

export async function createHttp(deps: HttpDeps): Promise<Http> {
  const app = createApp(deps)
  let closing = false
  app.decorateRequest('about')
  handleErrors(app)
  registerBodyParser(app, deps.config.messageBytes, deps)
  normalizeBodies(app)
  await app.register(cookie)
  beginAnswers(app, deps, () => closing)
  const handlers = restrictPeopleRoutes(app, deps.config.adminApart === true)
  const requestLog = createRequestLogBuffer(deps)
  if (deps.config.logApiUse) logApiRequests(app, requestLog, deps)
  attendRequests(app, deps)

  const { publicUrl = '', peopleUrl = '', adminApart = false } = deps.config
  const origins = { apps: publicUrl, people: peopleUrl }
  const secret = await deps.storage.secret({ name: 'links', fresh: randomBytes(32) }, deps.clock.now())
  const contents = createEmailContentReader({ ...deps, turns: deps.capacity.turns })
  const linked = { links: createLinkSigner(secret), origin: () => origins.apps, contents }
  const people = { origin: () => origins.people }
  sentRoutes(app, deps, linked)
  imageRoutes(app, deps, linked)
  resetRoutes(app, deps, people)
  signInProviderRoutes(app, deps, people)
  identityRoutes(app, deps, people)
  const devices = await deps.storage.secret({ name: 'devices', fresh: randomBytes(32) }, deps.clock.now())
  const signIns = createSignInThrottle(deps.clock, devices, deps.node.shareOf)
  invitationRoutes(app, deps, { ...people, signIns })
  setDeviceCookies(app, signIns, deps.clock)
  teamRoutes(app, deps, signIns)
  logRoutes(app, deps, { buffer: requestLog, contents })
  const live = createLiveStreams(deps)
  liveRoutes(app, deps, live)
  operatorRoutes(app, deps)
  documentRoutes(app, deps.config.version, deps.sandboxInbox !== undefined)
  if (deps.sandboxInbox) sandboxRoutes(app, deps.sandboxInbox, deps)
  await serveDashboard(app, deps.dashboard)
  await app.ready()

  const { http: connections, budgets } = deps.capacity
  const admission = { connections, budgets, proxies: parseNetworks(deps.config.trustProxy) }
  const listeners = createListeners(handlers.apps, 'http.listen', admission)
  return {
    requestLog: deps.config.logApiUse ? requestLog : null,
    async listen(addresses, setting = 'listen') {
      const opened = await listeners.listen(addresses, listenerOf(setting, handlers, deps))
      const forPeople = setting.startsWith('admin')
      if (!forPeople) origins.apps ||= opened[0] ?? ''
      if (forPeople || !adminApart) origins.people ||= opened[0] ?? ''
      return opened
    },
    async close() {
      closing = true
      deps.health.stopping()
      live.close()
      await listeners.close()
      await app.close()
      await requestLog.flush()
    },
  }
}

/** Adds the headers of every response; refuses everything during shutdown. */
function beginAnswers(app: App, { config: { hstsDays = 0 } }: HttpDeps, closing: () => boolean): void {
  app.addHook('onRequest', (request, reply, done) => {
    request.about = {}
    void reply.headers(SECURITY_HEADERS).headers({
      'x-request-id': request.id,
      // Most responses contain other people's mail. The dashboard's files override this.
      'cache-control': 'no-store',
    })
    // HSTS must not be sent over plain HTTP (RFC 6797 §7.2).
    if (hstsDays > 0 && request.protocol === 'https')
      void reply.header('strict-transport-security', `max-age=${hstsDays * 86_400}`)
    if (closing()) void reply.header('connection', 'close')
    done(closing() ? refuse('shutting_down') : undefined)
  })
}

/** Registers the hooks that apply to every request, whatever its route. */
function attendRequests(app: App, deps: HttpDeps): void {
  requireAuthentication(app, deps)
  refuseUnsupported(app)
  addEtags(app)
  chunkLargeResponses(app, deps)
  registerAuditHooks(app, deps)
  logRequests(app)
  measureRequests(app, deps)
}

/** Returns the listener options for the addresses of a setting. */
function listenerOf(
  setting: HttpSetting,
  { people, apps }: ListenerHandlers,
  { tls }: HttpDeps,
): ListenerOptions {
  const secure = setting === 'tls_listen' || setting === 'admin_tls_listen'
  const handle = setting.startsWith('admin') ? people : apps
  return { key: `http.${setting}`, tls: secure ? (tls ?? null) : null, handle }
}

/** Adds routes for sending and for sent emails. */
function sentRoutes(app: App, deps: HttpDeps, linked: LinkDeps): void {
  emailRoutes(app, deps, linked.contents)
  batchRoutes(app, deps)
  attachmentRoutes(app, deps, linked)
  shareRoutes(app, deps, linked)
  emailSearchRoutes(app, deps)
  emailPreviewRoutes(app, deps, linked)
  insightRoutes(app, deps, linked.contents)
  emailResendRoutes(app, deps, linked.contents)
  returnedMessageRoutes(app, deps)
  receivingRoutes(app, deps, linked)
  reportRoutes(app, deps)
  receivingRuleRoutes(app, deps)
  metricsRoutes(app, deps)
}

/** Adds routes for a team's resources. */
function teamRoutes(app: App, deps: HttpDeps, signIns: SignInThrottle): void {
  domainRoutes(app, deps)
  propagationRoutes(app, deps)
  providerRuleRoutes(app, deps)
  retentionRoutes(app, deps)
  apiKeyRoutes(app, deps)
  contactRoutes(app, deps)
  contactBatchRoutes(app, deps)
  contactImportRoutes(app, deps)
  segmentRoutes(app, deps)
  topicRoutes(app, deps)
  automationRoutes(app, deps)
  alertRoutes(app, deps)
  customEventRoutes(app, deps)
  templateRoutes(app, deps)
  broadcastRoutes(app, deps)
  broadcastVersionRoutes(app, deps)
  unsubscribePageRoutes(app, deps)
  preferenceRoutes(app, deps)
  formRoutes(app, deps)
  signUpRoutes(app, deps)
  archiveRoutes(app, deps)
  archivePageRoutes(app, deps)
  suppressionRoutes(app, deps)
  erasureRoutes(app, deps)
  webhookRoutes(app, deps)
  sessionRoutes(app, deps, signIns)
  teamsRoutes(app, deps)
  memberRoutes(app, deps)
  const passwords = createPasswordThrottle(deps)
  accountRoutes(app, deps, passwords)
  secondStepRoutes(app, deps)
  accountFactorRoutes(app, deps, passwords)
  setupRoutes(app, deps)
  if (deps.tracking) trackingRoutes(app, deps.tracking)
  usageRoutes(app, deps)
}

/** Adds routes about the whole server. */
function operatorRoutes(app: App, deps: HttpDeps): void {
  queueRoutes(app, deps)
  auditRoutes(app, deps)
  sourceRoutes(app, deps)
  shapingRoutes(app, deps)
  doctorRoutes(app, deps)
  tlsRoutes(app, deps)
  certificateRoutes(app, deps)
  nodeRoutes(app, deps)
  postmasterRoutes(app, deps)
  healthRoutes(app, deps)
  const { challenges, policies } = deps.tls ?? {}
  if (challenges) acmeRoutes(app, (token) => challenges.http(token))
  if (policies) policyRoutes(app, (host) => policies.fileOf(host))
  prometheusRoutes(app, deps)
}

/** Responses are built field by field in api/; their schemas are for the type checker and the docs. */
const buildSerializer = () => () => (data: unknown) => JSON.stringify(data)

/** Creates Fastify with our settings, before the first hook and route. */
function createApp(deps: HttpDeps): App {
  const app: App = fastify({
    loggerInstance: deps.log,
    genReqId: () => newId(deps.clock.now()),
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    trustProxy: deps.config.trustProxy.length > 0 ? deps.config.trustProxy : false,
    bodyLimit: deps.config.messageBytes,
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, maxParamLength: MAX_PARAMETER },
    // Fastify's defaults would convert 5 to "5" and drop fields; `verbose` is needed for our messages.
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        allErrors: false,
        verbose: true,
      },
    },
    schemaController: { compilersFactory: { buildValidator, buildSerializer } },
    schemaErrorFormatter: createValidationRefusal,
    frameworkErrors: handleBadUrl,
  }).withTypeProvider<TypeBoxTypeProvider>()
  return app
}

/** Returns the part of the path that may be logged. */
function pathOf({ url, routeOptions }: FastifyRequest): string {
  if (routeOptions.config.secretPath) return routeOptions.url ?? ''
  return url.split('?', 1)[0]!.slice(0, 200)
}

/** Returns the id of the email in the path; only valid ids, because strangers may write anything there. */
function emailOf({ params, routeOptions }: FastifyRequest): string | undefined {
  const { id } = (params ?? {}) as { id?: unknown }
  const isAbout = routeOptions.url?.startsWith('/emails/:id') === true
  return isAbout && typeof id === 'string' && isId(id) ? id.toLowerCase() : undefined
}

/**
 * Logs one line per request. Never headers, queries or bodies, which contain keys, passwords and other people's mail.
 */
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
        email_id: emailOf(request),
        ...request.about,
      },
      'request',
    )
    done()
  })
}
