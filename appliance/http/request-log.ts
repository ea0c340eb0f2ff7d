/** Logs each request of an app with its response. Requests of the dashboard aren't API use, and are left out. */
import type { FastifyRequest } from 'fastify'
import type { RequestLog } from '../storage/storage.ts'
import type { App, HttpDeps } from './deps.ts'
import { formatBodyForLog, extractRefusalMessage, redactQuery } from './request-log-body.ts'
import { replaceEmailContents } from './request-log-emails.ts'
import type { RequestLogBuffer } from './request-log-buffer.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The response body; undefined until there is one, and when it isn't JSON. */
    answered: unknown
    /** The emails that this request created. */
    accepted: string[]
  }
}

/** Maximum length of a logged path and user agent. */
const MAX_ENDPOINT = 1000
const MAX_USER_AGENT = 500

/** Maximum size of an error response that is parsed. Error responses are already text, and short. */
const MAX_ERROR = 64 * 1024

/**
 * Adds every completed request with a valid key to the buffer. Call it before the first route is added. Requests
 * without a key belong to no team, and are only in the daemon's own log.
 */
export function logApiRequests(app: App, buffer: RequestLogBuffer, { clock }: Pick<HttpDeps, 'clock'>): void {
  app.decorateRequest('answered', undefined)
  app.decorateRequest('accepted')
  app.addHook('onRequest', (request, _reply, done) => {
    request.accepted = []
    done()
  })
  app.addHook('preSerialization', (request, _reply, payload, done) => {
    request.answered = payload
    done(null, payload)
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    if (reply.statusCode >= 400 && typeof payload === 'string' && payload.length <= MAX_ERROR)
      request.answered = readAnswer(payload)
    done(null, payload)
  })
  app.addHook('onResponse', (request, reply, done) => {
    const entry = entryOf(request, reply.statusCode, Math.round(reply.elapsedTime), clock.now())
    if (entry) buffer.add(entry)
    done()
  })
}

function entryOf(
  request: FastifyRequest,
  status: number,
  durationMs: number,
  now: number,
): RequestLog | undefined {
  const { caller, headers, answered, accepted } = request
  if (!caller?.apiKey) return undefined
  const { config, schema } = request.routeOptions
  const [path = '', ...query] = request.url.split('?')
  // Without a schema, the path identifies what is sent again.
  const body =
    schema?.body === undefined ? request.body : replaceEmailContents(request.body, accepted, answered)
  return {
    id: request.id,
    teamId: caller.teamId,
    apiKeyId: caller.apiKey.id,
    method: request.method,
    endpoint: path.slice(0, MAX_ENDPOINT),
    query: redactQuery(query.join('?')),
    status,
    enhanced: null,
    message: status >= 400 ? extractRefusalMessage(answered) : null,
    durationMs,
    ip: request.ip,
    userAgent: headers['user-agent']?.slice(0, MAX_USER_AGENT) ?? null,
    requestBody: config.secretBody ? null : formatBodyForLog(body),
    responseBody: formatBodyForLog(answered),
    emailIds: accepted,
    createdAt: now - durationMs,
  }
}

/** Parses an error body; undefined for an HTML page. */
function readAnswer(payload: string): unknown {
  if (!payload.startsWith('{')) return undefined
  try {
    return JSON.parse(payload) as unknown
  } catch {
    return undefined // A page or a text that begins with a brace. There is nothing to keep.
  }
}
