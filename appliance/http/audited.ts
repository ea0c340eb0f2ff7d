/** The one place where requests that change something are written down in the audit log. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { beginAct, endAct } from '../accounts/audit.ts'
import type { AuditAction } from '../mail/audit.ts'
import { Refusal } from '../mail/refusals.ts'
import { actorOf, callerOf } from './access.ts'
import type { App, HttpDeps } from './deps.ts'

/** What the audit log says of a route. */
export interface AuditedRoute {
  /** Noun and verb: `domain.create`. */
  action: AuditAction
  /** What it is about: `domain`. With the path's first parameter, or else the id that is answered, it makes the target. */
  noun: string
  /**
   * How it is now: asked before the handler and again after it. Refusals are no matter (there may be nothing, or nothing
   * any more). Without it, `after` is what was answered.
   */
  read?: ((request: FastifyRequest) => Promise<unknown>) | undefined
  /** How it is before the handler, where `after` is to be what was answered. Not beside `read`. */
  before?: ((request: FastifyRequest) => Promise<unknown>) | undefined
  /** Whose log it belongs to, where that is not the team that the caller looks at: the caller must be in it. */
  team?: (request: FastifyRequest) => string
  /** It is about the whole appliance: the entry is no team's, and the operator reads it. */
  appliance?: true
  /**
   * Path and body name people who get mail. An erasure does not reach this log, so neither is written: the id and the
   * counts that are answered must do.
   */
  personal?: true
  /** Requests that only look: nothing is written. */
  looks?: (request: FastifyRequest) => boolean
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Every route that is not GET or HEAD says this. null: no administrative act, or one that writes itself down
     * (`recordAct` in accounts/audit.ts, the queue, erasures). Not for public routes: nobody is known there.
     */
    audit?: AuditedRoute | null
  }
  interface FastifyRequest {
    /** The entry that waits for its end. */
    act: { id: string; route: AuditedRoute } | null
  }
}

/** Methods that change nothing (RFC 9110 §9.2.1). */
const SAFE = ['GET', 'HEAD', 'OPTIONS', 'TRACE']

type AuditDeps = Pick<HttpDeps, 'storage' | 'clock'>

/** Writes down the acts of all routes that are added from now on. */
export function auditActs(app: App, deps: AuditDeps): void {
  app.decorateRequest('act', null)
  app.addHook('onRoute', (route) => {
    const audit = route.config?.audit
    const changes = [route.method].flat().some((method) => !SAFE.includes(method))
    if (changes && audit === undefined)
      throw new Error(`${String(route.method)} ${route.url}: say what the audit log is to tell, or null`)
    if (!audit) return
    if (route.config?.access === 'public') throw new Error(`${route.url}: public routes record their acts`)
    // The last step before the handler: what is refused earlier has begun nothing and may read nothing.
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
  return beginAct(deps.storage, deps.clock, {
    teamId: route.appliance ? null : (route.team?.(request) ?? callerOf(request).teamId),
    actor: actorOf(request),
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

/** Before the answer leaves: whoever has it finds the entry whole. */
async function ended({ id, route, request, reply, payload }: Answered, deps: AuditDeps): Promise<void> {
  const answer = bodyOf(payload)
  try {
    const after =
      reply.statusCode >= 400
        ? { refused: answer.name ?? reply.statusCode }
        : ((await read(route.read, request)) ?? (route.personal ? withoutPeople(answer) : answer))
    await endAct(deps.storage, deps.clock, { id, after, target: targetOf(route, request, answer) })
  } catch (error) {
    // The act is done and its answer true: the entry stays without an end, which reads as "not known".
    request.log.error(
      { err: error, audit_id: id },
      'an action succeeded, but its result could not be recorded in the audit log',
    )
  }
}

/** Undefined where there is nothing to read. */
async function read(ask: AuditedRoute['read'], request: FastifyRequest): Promise<unknown> {
  try {
    return await ask?.(request)
  } catch (error) {
    if (error instanceof Refusal) return undefined
    throw error
  }
}

type Answer = Record<string, unknown>

/** Ids and counts. */
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

/** Longest name from a path: an email address fits. */
const MAX_TARGET = 320

function targetOf({ noun, personal }: AuditedRoute, { params }: FastifyRequest, answer: Answer = {}): string {
  const [named] = personal ? [] : Object.values((params ?? {}) as Record<string, string>)
  const id = named ?? answer.id ?? answer.ip
  return typeof id === 'string' ? `${noun} ${id.slice(0, MAX_TARGET)}` : noun
}

/** The fields of the body; of a file, its size. */
function detailsOf(body: unknown): Record<string, unknown> {
  if (body === null || body === undefined) return {}
  if (typeof body === 'string') return { characters: body.length }
  if (body instanceof Uint8Array) return { bytes: body.byteLength }
  if (Array.isArray(body)) return { items: body.length }
  // A route without a body of its own takes any.
  if (typeof body !== 'object') return { value: body }
  return body as Record<string, unknown>
}
