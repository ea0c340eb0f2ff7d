/** Who is calling: an app by its key, or a person by the cookie of the dashboard. One `Caller` for both. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SignedIn } from '../accounts/accounts.ts'
import type { Access } from '../api/operation.ts'
import type { Actor } from '../mail/audit.ts'
import { Refusal, refuse } from '../mail/refusals.ts'
import { leastRole, may, type Right, type Role } from '../mail/roles.ts'
import type { Caller } from '../senders/caller.ts'
import { meter } from './budget.ts'
import { SESSION, shownCookie } from './cookies.ts'
import type { App, HttpDeps } from './deps.ts'
import { connectionOf } from './listeners.ts'
import { limitRate, tellRate } from './rate.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Full access unless said otherwise. */
    access?: Access
    /**
     * What a person's role must include; none: one's own account, whatever the role. Unless said otherwise `view` for GET
     * and HEAD and `configure` for the rest. Keys are restricted by `access` alone.
     */
    right?: Right | 'none'
    /** The path itself is a key: it stands in no log. */
    secretPath?: boolean
    /** The body is in no log. */
    secretBody?: boolean
  }
  interface FastifyRequest {
    /** Null on public routes, and before the key is looked up. */
    caller: Caller | null
    /** What the log line of this request tells beside the usual. */
    about: Record<string, string | readonly string[]>
  }
}

/** Asks for a key or a session before the body is read: strangers cannot make us take 40 MB. */
export function guard(app: App, deps: GuardDeps): void {
  app.decorateRequest('caller', null)
  app.addHook('onRequest', async (request, reply) => {
    // Whoever is nobody's client asks on the account of the address, and hears of that rather than of what is wrong beside.
    const charge = async (): Promise<void> => {
      if (!request.caller && !request.routeOptions.config.unmetered) await meter(request, reply, deps)
    }
    try {
      await admit(request, reply, deps)
    } catch (error) {
      await charge()
      throw error
    }
    await charge()
  })
}

type GuardDeps = Pick<HttpDeps, 'senders' | 'accounts' | 'rateLimiter' | 'capacity'>

/** Identifies the caller, if the route requires it, and refuses callers that aren't allowed to use the route. */
async function admit(request: FastifyRequest, reply: FastifyReply, deps: GuardDeps): Promise<void> {
  const access = request.routeOptions.config.access ?? 'full'
  if (!request.is404 && access === 'public') return
  const { authorization } = request.headers
  if (request.is404) {
    // Everyone gets a 404 for an unknown path. Callers with a key also get their rate limit headers.
    const caller = authorization === undefined ? undefined : await callerByKey(deps, authorization)
    request.caller = caller ?? null
    if (caller) limitRate(reply, deps.rateLimiter, caller.teamId)
    return
  }
  if (authorization === undefined || access === 'people') {
    if (access !== 'people' && shownCookie(request, SESSION) === undefined) tellRate(reply, deps.rateLimiter)
    request.caller = await callerByCookie(deps, request, access)
    claimConnection(request)
    return
  }
  const caller = await callerByKey(deps, authorization)
  if (!caller) {
    tellRate(reply, deps.rateLimiter)
    throw refuse(tokenIn(authorization) === undefined ? 'missing_api_key' : 'invalid_api_key')
  }
  // Known before it is refused: the log of requests tells whose it was.
  request.caller = caller
  claimConnection(request)
  limitRate(reply, deps.rateLimiter, caller.teamId)
  if (access !== 'sending' && caller.apiKey?.permission !== 'full_access') throw refuse('restricted_api_key')
}

/** Counts the connection to the caller's team. Refuses: `connections_team`. */
function claimConnection({ caller, raw }: FastifyRequest): void {
  if (caller && connectionOf(raw.socket)?.identify(caller.teamId) === false) throw refuse('connections_team')
}

/** The caller of a route that is not public. */
export function callerOf(request: FastifyRequest): Caller {
  if (!request.caller) throw refuse('missing_api_key')
  return request.caller
}

/** Who the audit log names. */
export function actorOf(request: FastifyRequest): Actor {
  const { apiKey, user } = callerOf(request)
  return apiKey
    ? { kind: 'api_key', name: apiKey.id, label: apiKey.name, ip: request.ip }
    : { kind: 'user', name: user ?? '', ip: request.ip }
}

/** Undefined for a token that is nobody's, and where there is none. */
async function callerByKey(
  { senders }: Pick<HttpDeps, 'senders'>,
  authorization: string,
): Promise<Caller | undefined> {
  const token = tokenIn(authorization)
  return token === undefined ? undefined : senders.authenticate(token)
}

const tokenIn = (authorization: string) => /^bearer +(\S+)\s*$/i.exec(authorization)?.[1]

async function callerByCookie(
  { accounts }: Pick<HttpDeps, 'accounts'>,
  request: FastifyRequest,
  access: Access,
): Promise<Caller> {
  const token = shownCookie(request, SESSION)
  if (token === undefined) throw refuse(access === 'people' ? 'not_signed_in' : 'missing_api_key')
  if (changes(request) && !(fromDashboard(request) && sameOrigin(request) === true))
    throw refuse('foreign_origin')
  const found = await accounts.resume(token)
  if (!found) throw refuse('not_signed_in')
  demandFactor(found, rightOf(request))
  demandRight(found.role, rightOf(request))
  const { user, role } = found
  return { teamId: found.team.id, apiKey: null, user: user.email, userId: user.id, role }
}

/** Whether whoever was let in would be let in now, to the same team: for answers that go on for long. */
export async function wouldEnter(
  deps: Pick<HttpDeps, 'senders' | 'accounts'>,
  request: FastifyRequest,
): Promise<boolean> {
  const { teamId, apiKey } = callerOf(request)
  if (apiKey) return (await deps.senders.callerOf(apiKey.id)) !== undefined
  try {
    const caller = await callerByCookie(deps, request, request.routeOptions.config.access ?? 'full')
    return caller.teamId === teamId
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}

/** What a route demands of a person's role; see `right` in its config. */
function rightOf({ method, routeOptions }: FastifyRequest): Right | 'none' {
  return routeOptions.config.right ?? (method === 'GET' || method === 'HEAD' ? 'view' : 'configure')
}

/** The one place where a team's wish for second factors is enforced. One's own account stays open: factors are set up there. */
function demandFactor({ mfaRequired, session }: SignedIn, right: Right | 'none'): void {
  if (right !== 'none' && mfaRequired && !session.strong) throw refuse('second_factor_required')
}

/** The one place where roles are enforced. Refuses: `role_too_low`. */
function demandRight(role: Role, right: Right | 'none'): void {
  if (right !== 'none' && !may(role, right)) throw refuse('role_too_low', { needed: leastRole(right), role })
}

/** For routes whose right depends on what is asked for. Keys pass: they are restricted by `access`. Refuses: `role_too_low`. */
export function demand(request: FastifyRequest, right: Right): void {
  const { role } = callerOf(request)
  if (role) demandRight(role, right)
}

const changes = ({ method }: FastifyRequest) => method !== 'GET' && method !== 'HEAD'

/** Forms and links of other sites cannot set this header; scripts of other sites would have to ask first (CORS), and we never agree. */
const fromDashboard = ({ headers }: FastifyRequest) => headers['x-requested-with'] === 'dashboard'

/** Whether the browser says that our own page asks; undefined when it says nothing, as programs other than browsers do. */
export function sameOrigin({ headers, host }: FastifyRequest): boolean | undefined {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || site === 'none'
  const { origin } = headers
  if (origin === undefined) return undefined
  return URL.canParse(origin) && new URL(origin).host === host.toLowerCase()
}

/** A caller who is a person. */
export interface Person {
  teamId: string
  userId: string
  email: string
  role: Role
}

/** Refuses: `not_signed_in`. */
export function personOf(request: FastifyRequest): Person {
  const { teamId, userId, user, role } = callerOf(request)
  if (userId === undefined || user === undefined || role === undefined) throw refuse('not_signed_in')
  return { teamId, userId, email: user, role }
}

/** Whether the caller is of the team that runs the appliance. */
export async function isOperator(
  request: FastifyRequest,
  { storage, clock }: Pick<HttpDeps, 'storage' | 'clock'>,
): Promise<boolean> {
  const team = await storage.firstTeam({}, clock.now())
  return team?.id === callerOf(request).teamId
}

/** A step before a request is validated: refuses keys and people of other teams. Keys need full access as everywhere. */
export function requireOperator(deps: Pick<HttpDeps, 'storage' | 'clock'>) {
  return async (request: FastifyRequest): Promise<void> => {
    if (!(await isOperator(request, deps))) throw refuse('not_operator')
  }
}
