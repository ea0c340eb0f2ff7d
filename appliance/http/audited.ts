/** Records the requests that change something in the audit log. Public routes record their own actions. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { startAuditEntry, completeAuditEntry } from '../accounts/audit.ts'
import type { AuditAction } from '../mail/audit.ts'
import { Refusal } from '../mail/refusals.ts'
import { getActor, getCaller, requireOperator } from './access.ts'
import type { App, HttpDeps } from './deps.ts'

/** What the audit log records for a route. */
export interface AuditedRoute {
  /**
   * Noun and verb: `domain.create`. The noun forms the target together with the first path parameter or, without one,
   * the id in the response.
   */
  action: AuditAction
  /**
   * Reads the current state; called before and after the handler. Refusals are ignored, because the object may not
   * exist. When absent, `after` is the response.
   */
  read?: ((request: FastifyRequest) => Promise<unknown>) | undefined
  /** Reads the state before the handler, when `after` should be the response. Not together with `read`. */
  before?: ((request: FastifyRequest) => Promise<unknown>) | undefined
  /**
   * Returns the team whose log the entry belongs to, if it isn't the caller's current team. The caller must be a
   * member.
   */
  team?: (request: FastifyRequest) => string
  /** Whether the action concerns the whole server: the entry has no team, and operators can see it. */
  appliance?: true
  /**
   * Whether path and body contain recipients' data. They aren't recorded then, because an erasure doesn't cover this
   * log. Only the returned ID and counts are.
   */
  personal?: true
  /** Reports whether a request only reads data, and must not be recorded. */
  looks?: (request: FastifyRequest) => boolean
}

/**
 * Returns the options of a route with which operators change the server.
 * @param read see `AuditedRoute`
 */
export const createOperatorOptions = (
  deps: Pick<HttpDeps, 'storage' | 'clock'>,
  action: AuditAction,
  read?: AuditedRoute['read'],
) => ({
  right: 'operate' as const,
  audit: { action, read, appliance: true as const },
  preValidation: requireOperator(deps),
})

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Required on every route other than GET and HEAD. The action alone is enough if the other fields have their
     * defaults. Null for actions that aren't administrative, or that record themselves (`recordAuditEntry` in
     * accounts/audit.ts, the queue, erasures). Not for public routes, because no one is authenticated there.
     */
    audit?: AuditedRoute | AuditAction | null
  }
  interface FastifyRequest {
    /** The audit entry to complete after the request. */
    act: { id: string; route: AuditedRoute } | null
  }
}

/** Methods that change nothing (RFC 9110 §9.2.1). */
const SAFE = ['GET', 'HEAD', 'OPTIONS', 'TRACE']

type AuditDeps = Pick<HttpDeps, 'storage' | 'clock'>

/** Records the actions of all routes that are added from now on. */
export function registerAuditHooks(app: App, deps: AuditDeps): void {
  app.decorateRequest('act', null)
  app.addHook('onRoute', (route) => {
    const given = route.config?.audit
    const audit: AuditedRoute | null | undefined = typeof given === 'string' ? { action: given } : given
    const changes = [route.method].flat().some((method) => !SAFE.includes(method))
    if (changes && audit === undefined)
      throw new Error(`${String(route.method)} ${route.url}: say what the audit log is to tell, or null`)
    if (!audit) return
    if (route.config?.access === 'public') throw new Error(`${route.url}: public routes record their acts`)
    // Must be the last hook before the handler, so that a refused request creates no entry and reads no state.
    const earlier = [route.preHandler ?? []].flat()
    const begin = async (request: FastifyRequest): Promise<void> => {
      if (audit.looks?.(request)) return
      request.act = { id: await begun(request, audit, deps), route: audit }
    }
    route.preHandler = [...earlier, begin]
  })
  app.addHook('onSend', async (request, reply, payload) => {
    const { act } = request
    if (!act) return payload
    request.act = null
    await ended({ ...act, request, reply, payload }, deps)
    return payload
  })
}

async function begun(request: FastifyRequest, route: AuditedRoute, deps: AuditDeps): Promise<string> {
  return startAuditEntry(deps.storage, deps.clock, {
    teamId: route.appliance ? null : (route.team?.(request) ?? getCaller(request).teamId),
    actor: getActor(request),
    action: route.action,
    target: targetOf(route, request),
    before: await read(route.read ?? route.before, request),
    details: route.personal ? {} : detailsOf(request.body),
  })
}

interface Answered {
  id: string
  route: AuditedRoute
  request: FastifyRequest
  reply: FastifyReply
  payload: unknown
}

/** Completes the entry before the response is sent, so that a client that has the response finds the complete entry. */
async function ended({ id, route, request, reply, payload }: Answered, deps: AuditDeps): Promise<void> {
  const answer = bodyOf(payload)
  try {
    const after =
      reply.statusCode >= 400
        ? { refused: answer.name ?? reply.statusCode }
        : ((await read(route.read, request)) ?? (route.personal ? withoutPeople(answer) : answer))
    await completeAuditEntry(deps.storage, deps.clock, {
      id,
      after,
      target: targetOf(route, request, answer),
    })
  } catch (error) {
    // The action is done and the response is correct. The entry stays incomplete, and is shown as "not known".
    request.log.error(
      { err: error, audit_id: id },
      'an action succeeded, but its result could not be recorded in the audit log',
    )
  }
}

/** Reads the state of an object; undefined when there is nothing to read. */
async function read(ask: AuditedRoute['read'], request: FastifyRequest): Promise<unknown> {
  try {
    return await ask?.(request)
  } catch (error) {
    if (error instanceof Refusal) return undefined
    throw error
  }
}

type Answer = Record<string, unknown>

/** Returns only the IDs and counts of a response. */
function withoutPeople(answer: Answer): Answer {
  const isCount = ([name, value]: [string, unknown]) =>
    name === 'id' || typeof value === 'number' || typeof value === 'boolean'
  const { data } = answer
  const ids = Array.isArray(data) ? { ids: data.map((one: { id?: unknown }) => one.id) } : {}
  return { ...Object.fromEntries(Object.entries(answer).filter(isCount)), ...ids }
}

function bodyOf(payload: unknown): Answer {
  if (typeof payload !== 'string' || !payload.startsWith('{')) return {}
  return JSON.parse(payload) as Answer
}

/** Maximum length of a name from a path; long enough for an address. */
const MAX_TARGET = 320

function targetOf(
  { action, personal }: AuditedRoute,
  { params }: FastifyRequest,
  answer: Answer = {},
): string {
  const noun = action.split('.', 1)[0]!
  const [named] = personal ? [] : Object.values((params ?? {}) as Record<string, string>)
  const id = named ?? answer.id ?? answer.ip
  return typeof id === 'string' ? `${noun} ${id.slice(0, MAX_TARGET)}` : noun
}

/** Returns the fields of the body; for a file, its size. */
function detailsOf(body: unknown): Record<string, unknown> {
  if (body === null || body === undefined) return {}
  if (typeof body === 'string') return { characters: body.length }
  if (body instanceof Uint8Array) return { bytes: body.byteLength }
  if (Array.isArray(body)) return { items: body.length }
  // A route without a body schema accepts anything.
  if (typeof body !== 'object') return { value: body }
  return body as Record<string, unknown>
}
