/** Converts errors to the wire format (reference: wire format §3); the only place that does. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { presentError } from '../api/shared.ts'
import { QuotaRefusal } from '../intake/intake.ts'
import { Refusal, refuse, type RefusalKey } from '../mail/refusals.ts'
import { setQuotaHeaders } from './accepted.ts'
import type { App } from './deps.ts'
import { createRouteTable } from './route-table.ts'

/** Default for Retry-After, in seconds. */
const RETRY_AFTER = 5

/** Refusals after which the connection is closed. */
const ENDING: ReadonlySet<RefusalKey> = new Set(['shutting_down', 'address_rate'])

/** Handles all errors and unknown paths. Call it before the first route is added. */
export function handleErrors(app: App): void {
  const table = createRouteTable()
  app.addHook('onRoute', ({ method, url }) => table.add([method].flat(), url))
  const answerUnknown = ({ url }: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const allowed = table.methods(url)
    if (allowed.length === 0) return answer(reply, refuse('unknown_endpoint'))
    return answer(reply.header('allow', allowed.join(', ')), refuse('method_not_allowed'))
  }
  app.setErrorHandler((error, request, reply) => {
    const refusal = refusalOf(error)
    // Fastify's error about the body of a request for an unknown path. The 404 takes precedence.
    if (request.is404 && !(error instanceof Refusal) && refusal.status < 500)
      return answerUnknown(request, reply)
    if (refusal.status >= 500 && !(error instanceof Refusal))
      request.log.error(
        { err: error, path: request.routeOptions.url },
        'request failed: this is a bug, or the storage failed',
      )
    return answer(reply, refusal)
  })
  app.setNotFoundHandler(answerUnknown)
}

/** Responds to a URL that can't be decoded, and therefore matches no route. */
export function handleBadUrl(_error: unknown, _request: FastifyRequest, reply: FastifyReply): void {
  void answer(reply, refuse('unknown_endpoint'))
}

function answer(reply: FastifyReply, refusal: Refusal): FastifyReply {
  const busy = [429, 503, 507].includes(refusal.status)
  if (busy && !reply.hasHeader('retry-after'))
    void reply.header('retry-after', refusal.retryAfter ?? RETRY_AFTER)
  if (refusal instanceof QuotaRefusal) setQuotaHeaders(reply, refusal.used)
  // Fastify closes the connection after a refused body. Most clients would then report a broken pipe instead of the
  // response.
  if (!ENDING.has(refusal.key)) void reply.removeHeader('connection')
  return reply
    .code(refusal.status)
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify(presentError(refusal)))
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  // A storage failure that may be temporary, such as a database server that restarts.
  const { kind } = error as { kind?: unknown }
  if (kind === 'transient' || kind === 'ambiguous') return refuse('unavailable')
  if (kind === 'full') return refuse('disk_full')
  // Fastify's own errors: an invalid content type, an aborted body.
  const status = (error as { statusCode?: unknown }).statusCode
  if (status === 415) return refuse('unsupported_body')
  const asked = typeof status === 'number' && status >= 400 && status < 500
  return refuse(asked ? 'malformed_request' : 'internal')
}

/** Parts of the hosted API that this version doesn't have, by path; the first match counts. */
const FEATURES: readonly (readonly [path: RegExp, feature: string])[] = [
  [/^\/inboxes(?:\/|$)/, 'inboxes'],
  [/^\/domains\/(?:claims?(?:\/|$)|[^/]+\/claim(?:\/|$))/, 'claiming domains'],
  [/^\/oauth\/grants(?:\/|$)/, 'OAuth grants'],
]

/** Matches a word from each of these paths, so that one test excludes nearly all other requests. */
const MAYBE = /inbox|claim|oauth/

/** Returns the unsupported part of the hosted API that a path belongs to; undefined for all other paths. */
function unsupportedFeature(url: string): string | undefined {
  if (!MAYBE.test(url)) return undefined
  const path = url.split(/[?#]/, 1)[0]!.replaceAll(/\/{2,}/g, '/')
  return FEATURES.find(([pattern]) => pattern.test(path))?.[1]
}

/**
 * Refuses requests for parts of the hosted API that are missing, with an explanation instead of a plain "not found".
 * Applies to any method, even if a route would read one of the words as an ID.
 */
export function refuseUnsupported(app: App): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const feature = unsupportedFeature(request.url)
    done(feature === undefined ? undefined : refuse('unsupported_endpoint', { feature }))
  })
}
