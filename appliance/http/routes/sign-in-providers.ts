/** Routes for signing in through an identity provider. */
import * as api from '../../api/identities.ts'
import { serve } from '../serve.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { recordAuditEntry, type ProviderSignInResult } from '../../accounts/accounts.ts'
import { refuse } from '../../mail/refusals.ts'
import { presentList } from '../../api/shared.ts'
import { PROVIDER_SIGN_IN_COOKIE, removeCookie, storeCookie, readCookie } from '../cookies.ts'
import type { App, HttpDeps } from '../deps.ts'
import { createNodeThrottle } from '../own-account.ts'
import { limitUnauthenticated, getBrowser, setSignInCookie, MAX_UNAUTHENTICATED_BODY } from '../sign-in.ts'

/**
 * Maximum number of redirects to a provider per minute from one network. Each costs a database row, and sometimes a
 * request for the provider's metadata.
 */
const MOST_ATTEMPTS = 20
const WINDOW = 60_000

/** Maximum length of each query parameter of the callback. */
const MOST_QUERY = 8000

/** Returns the path of the callback that the provider redirects the browser to. */
const callbackPath = (provider: string) => `/session/oidc/${encodeURIComponent(provider)}/callback`

interface Linked {
  /** Returns the origin of this server's pages. */
  origin: () => string
}

/** Sends a browser to a provider: to sign in or, with its session's token, to link an account. */
export async function redirectToProvider(
  { request, reply, provider }: { request: FastifyRequest; reply: FastifyReply; provider: string },
  { origin, providers }: Linked & Pick<HttpDeps, 'providers'>,
  about: { next: string | undefined; link?: string | undefined },
): Promise<api.ProviderRedirect> {
  const own = request.headers.origin
  // The cookie would be set for this host name, but the provider redirects to the other one.
  if (own !== undefined && own !== origin()) throw refuse('provider_elsewhere', { origin: origin() })
  const redirectUri = origin() + callbackPath(provider)
  const { url, token, expiresAt } = await providers.begin({ provider, redirectUri, ...about })
  storeCookie({ request, reply }, PROVIDER_SIGN_IN_COOKIE, token, expiresAt)
  return { object: 'provider_departure', url }
}

export function signInProviderRoutes(app: App, deps: HttpDeps, linked: Linked): void {
  const { providers } = deps
  const throttle = createNodeThrottle(deps, MOST_ATTEMPTS, WINDOW)
  const open = { audit: null } as const

  serve(app, api.listSignInProviders, open, async () =>
    presentList(providers.list().map((one) => ({ object: 'sign_in_provider' as const, ...one }))),
  )

  const starting = { ...open, bodyLimit: MAX_UNAUTHENTICATED_BODY } as const
  serve(app, api.startProviderSignIn, starting, async (request, reply) => {
    limitUnauthenticated(request, reply, throttle)
    const { params, body } = request
    return redirectToProvider(
      { request, reply, provider: params.id },
      { ...linked, providers },
      { next: body.next },
    )
  })

  serve(app, api.finishProviderSignIn, { ...open, exposeHeadRoute: false }, async (request, reply) => {
    const at = linked.origin() + callbackPath(request.params.id)
    const search = request.url.slice(0, MOST_QUERY).replace(/^[^?]*/, '')
    const token = readCookie(request, PROVIDER_SIGN_IN_COOKIE)
    removeCookie({ request, reply }, PROVIDER_SIGN_IN_COOKIE)
    const args = { provider: request.params.id, returned: new URL(at + search), token }
    const result = await providers.finish({ ...args, ...getBrowser(request) })
    request.about = { sign_in_provider: args.provider, sign_in: result.kind }
    if (result.kind === 'entered') setSignInCookie(request, reply, result.result)
    await noteDown(deps, request, result)
    return reply.redirect(`/dashboard${pageAfter(args.provider, result)}`, 302)
  })
}

/** Writes the result of a sign-in, or of linking an account, to the log or the audit log. */
async function noteDown(
  { storage, clock }: HttpDeps,
  request: FastifyRequest,
  result: ProviderSignInResult,
): Promise<void> {
  if (result.kind === 'refused') {
    const { problem, detail } = result
    request.log.warn({ problem, detail }, 'sign-in with an identity provider failed')
    return
  }
  const { ip } = request
  if (result.kind === 'linked') {
    const { teamId, by, identity } = result
    const { provider, email } = identity
    const actor = { kind: 'user', name: by, ip } as const
    const target = `identity ${identity.id}`
    const act = { action: 'identity.link', target, after: { provider, email } } as const
    await recordAuditEntry(storage, clock, { teamId, actor, ...act })
    return
  }
  for (const { teamId, role } of result.admitted) {
    const actor = { kind: 'user', name: result.email, ip } as const
    const target = `member ${result.userId}`
    const act = { action: 'member.join', target, after: { role, by: result.by } } as const
    await recordAuditEntry(storage, clock, { teamId, actor, ...act })
  }
}

/** Returns the dashboard page that shows the result. */
function pageAfter(provider: string, result: ProviderSignInResult): string {
  if (result.kind === 'refused') {
    const { problem, linking, next } = result satisfies { problem: api.ProviderProblemCode }
    const about = new URLSearchParams({ problem, provider, ...(linking || next === '/' ? {} : { next }) })
    return `${linking ? '/account' : '/sign-in'}?${about.toString()}`
  }
  if (result.kind === 'linked') return `/account?${new URLSearchParams({ linked: provider }).toString()}`
  if (result.result.kind === 'session') return result.next
  // `step` makes the sign-in page ask for the missing second factor.
  const about = new URLSearchParams({ step: '1', ...(result.next === '/' ? {} : { next: result.next }) })
  return `/sign-in?${about.toString()}`
}
