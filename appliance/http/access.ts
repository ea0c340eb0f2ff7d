/**
 * Authenticates the caller: an app by its key, or a person by the dashboard's cookie. Both are represented by a
 * `Caller`.
 */
import type { FastifyRequest, FastifyReply } from 'fastify'
import type { ConsentContext } from '../mail/audience.ts'
import type { SignedInUser } from '../accounts/accounts.ts'
import type { Access } from '../api/operation.ts'
import type { Actor } from '../mail/audit.ts'
import { Refusal, refuse } from '../mail/refusals.ts'
import { findLowestRole, hasRight, type Right, type Role } from '../mail/roles.ts'
import type { Caller } from '../senders/api-keys.ts'
import { chargeRequest } from './budget.ts'
import { SESSION_COOKIE, readCookie } from './cookies.ts'
import type { App, HttpDeps } from './deps.ts'
import { getConnection } from './listeners.ts'
import { limitRate, setRateHeaders } from './rate.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Default: full access. */
    access?: Access
    /**
     * The right that a person's role must have. `none`: the route is about the person's own account, and open to every
     * role. Default: `view` for GET and HEAD, `configure` otherwise. Keys are only restricted by `access`.
     */
    right?: Right | 'none'
    /** Whether the path contains a secret and must not be logged. */
    secretPath?: boolean
    /** Whether the body contains a secret and must not be logged. */
    secretBody?: boolean
  }
  interface FastifyRequest {
    /** The authenticated caller; null on public routes, and before the key is looked up. */
    caller: Caller | null
    /** Additional fields of the request's log line. */
    about: Record<string, string | readonly string[]>
  }
}

/** Requires a key or session before the body is read, so that strangers can't make the server receive 40 MB. */
export function requireAuthentication(app: App, deps: GuardDeps): void {
  app.decorateRequest('caller', null)
  app.addHook('onRequest', async (request, reply) => {
    // Requests without a valid key or session use up the budget of their IP address. An exhausted budget is reported
    // before any other error.
    const charge = async (): Promise<void> => {
      if (!request.caller && !request.routeOptions.config.unmetered) await chargeRequest(request, reply, deps)
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
    // Every caller gets a 404 for an unknown path. Callers with a key also get their rate limit headers.
    const caller = authorization === undefined ? undefined : await callerByKey(deps, authorization)
    request.caller = caller ?? null
    if (caller) limitRate(reply, deps.rateLimiter, caller.teamId)
    return
  }
  if (authorization === undefined || access === 'people') {
    if (access !== 'people' && readCookie(request, SESSION_COOKIE) === undefined)
      setRateHeaders(reply, deps.rateLimiter)
    request.caller = await callerByCookie(deps, request, access)
    claimConnection(request)
    return
  }
  const caller = await callerByKey(deps, authorization)
  if (!caller) {
    setRateHeaders(reply, deps.rateLimiter)
    throw refuse(tokenIn(authorization) === undefined ? 'missing_api_key' : 'invalid_api_key')
  }
  // Set before a refusal, so that the request log knows the team.
  request.caller = caller
  claimConnection(request)
  limitRate(reply, deps.rateLimiter, caller.teamId)
  if (access !== 'sending' && caller.apiKey?.permission !== 'full_access') throw refuse('restricted_api_key')
}

/** Counts the connection to the caller's team. Refuses: `connections_team`. */
function claimConnection({ caller, raw }: FastifyRequest): void {
  if (caller && getConnection(raw.socket)?.identify(caller.teamId) === false) throw refuse('connections_team')
}

/** Returns the caller of a route that isn't public. */
export function getCaller(request: FastifyRequest): Caller {
  if (!request.caller) throw refuse('missing_api_key')
  return request.caller
}

/** Returns the caller's team and the id in the path: the object of the team that the request is about. */
export const getObjectRef = (request: FastifyRequest) => ({
  teamId: getCaller(request).teamId,
  id: (request.params as { id: string }).id,
})

/** Returns the name of the author of a change, for display: an address, or the name of an API key. */
export function getAuthorName(request: FastifyRequest): string {
  const { user, apiKey } = getCaller(request)
  return user ?? (apiKey ? `API key ${apiKey.name}` : '')
}

/** Returns the actor for the audit log. */
export function getActor(request: FastifyRequest): Actor {
  const { apiKey, user } = getCaller(request)
  return apiKey
    ? { kind: 'api_key', name: apiKey.id, label: apiKey.name, ip: request.ip }
    : { kind: 'user', name: user ?? '', ip: request.ip }
}

/** Finds the caller by key. Undefined when the token is unknown or missing. */
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
  const token = readCookie(request, SESSION_COOKIE)
  if (token === undefined) throw refuse(access === 'people' ? 'not_signed_in' : 'missing_api_key')
  if (changes(request) && !(fromDashboard(request) && isSameOrigin(request) === true))
    throw refuse('foreign_origin')
  const found = await accounts.resume(token)
  if (!found) throw refuse('not_signed_in')
  demandFactor(found, rightOf(request))
  demandRight(found.role, rightOf(request))
  const { user, role } = found
  return { teamId: found.team.id, apiKey: null, user: user.email, userId: user.id, role }
}

/** Whether the caller still has access to the same team; for long-running responses. */
export async function stillHasAccess(
  deps: Pick<HttpDeps, 'senders' | 'accounts'>,
  request: FastifyRequest,
): Promise<boolean> {
  const { teamId, apiKey } = getCaller(request)
  if (apiKey) return (await deps.senders.callerOf(apiKey.id)) !== undefined
  try {
    const caller = await callerByCookie(deps, request, request.routeOptions.config.access ?? 'full')
    return caller.teamId === teamId
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}

/** Returns the right that a route requires; see `right` in its config. */
function rightOf({ method, routeOptions }: FastifyRequest): Right | 'none' {
  return routeOptions.config.right ?? (method === 'GET' || method === 'HEAD' ? 'view' : 'configure')
}

/**
 * Enforces a team's requirement of a second factor; the only place that does. People can still access their own
 * account, because factors are set up there.
 */
function demandFactor({ mfaRequired, session }: SignedInUser, right: Right | 'none'): void {
  if (right !== 'none' && mfaRequired && !session.strong) throw refuse('second_factor_required')
}

/** Enforces roles; the only place that does. Refuses: `role_too_low`. */
function demandRight(role: Role, right: Right | 'none'): void {
  if (right !== 'none' && !hasRight(role, right))
    throw refuse('role_too_low', { needed: findLowestRole(right), role })
}

/**
 * Checks a right that depends on the request. Keys pass, because they are restricted by `access`. Refuses:
 * `role_too_low`.
 */
export function requireRight(request: FastifyRequest, right: Right): void {
  const { role } = getCaller(request)
  if (role) demandRight(role, right)
}

const changes = ({ method }: FastifyRequest) => method !== 'GET' && method !== 'HEAD'

/**
 * Whether the dashboard sent the request. Forms and links on other sites can't set this header, and scripts there would
 * need permission (CORS), which is never granted.
 */
const fromDashboard = ({ headers }: FastifyRequest) => headers['x-requested-with'] === 'dashboard'

/**
 * Whether the browser reports that the request comes from a page of this server; undefined when it reports nothing,
 * like programs other than browsers.
 */
export function isSameOrigin({ headers, host }: FastifyRequest): boolean | undefined {
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

/** Returns the caller as a person. Refuses: `not_signed_in`. */
export function requirePerson(request: FastifyRequest): Person {
  const { teamId, userId, user, role } = getCaller(request)
  if (userId === undefined || user === undefined || role === undefined) throw refuse('not_signed_in')
  return { teamId, userId, email: user, role }
}

/** Whether the caller belongs to the operator's team. */
export async function isOperator(
  request: FastifyRequest,
  { storage, clock }: Pick<HttpDeps, 'storage' | 'clock'>,
): Promise<boolean> {
  const team = await storage.firstTeam({}, clock.now())
  return team?.id === getCaller(request).teamId
}

/** Creates a hook that runs before validation and refuses callers of other teams. Keys need full access as usual. */
export function requireOperator(deps: Pick<HttpDeps, 'storage' | 'clock'>) {
  return async (request: FastifyRequest): Promise<void> => {
    if (!(await isOperator(request, deps))) throw refuse('not_operator')
  }
}

/**
 * Returns the consent act of an app or a team member. Omits the IP, because it isn't the contact's.
 * @param lifts whether the request may undo an opt-out, which only an explicit change of one contact may
 */
export function createConsentContext(request: FastifyRequest, lifts: boolean): ConsentContext {
  const { apiKey, userId = null } = getCaller(request)
  const about = { ip: null, userAgent: null, wording: null, lifts }
  return apiKey
    ? { origin: 'api', via: 'api', source: apiKey.id, ...about }
    : { origin: 'operator', via: 'dashboard', source: userId, ...about }
}

/**
 * Whether an app made the request. Apps change contacts all the time, so only people's changes are in the audit log;
 * the request log has the rest.
 */
export const isFromApp = ({ caller }: FastifyRequest): boolean => caller?.apiKey !== null
