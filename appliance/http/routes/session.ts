import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { refuse } from '../../mail/refusals.ts'
import { sourceNetwork } from '../../wire/networks.ts'
import { sameOrigin, SESSION_COOKIE } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import * as schema from '../schemas/session.ts'
import { createThrottle } from '../throttle.ts'

/** Sign-ins tried from one network, and for one address, within a minute. */
const MOST_ATTEMPTS = 10
const WINDOW = 60_000
/** An address and a password: strangers may send this body. */
const BODY_LIMIT = 16 * 1024

const SignedOut = Type.Object({ object: Type.Literal('session'), deleted: Type.Literal(true) })

/** Sign-in, "who am I" and sign-out of the dashboard. */
export function sessionRoutes(app: App, deps: HttpDeps): void {
  const { accounts, clock } = deps
  const throttle = createThrottle(clock, MOST_ATTEMPTS, WINDOW)
  const cookie = (request: FastifyRequest) =>
    ({ path: '/', httpOnly: true, sameSite: 'strict', secure: request.protocol === 'https' }) as const

  const present = async (token: string | undefined): Promise<schema.Session> => {
    const found = token === undefined ? undefined : await accounts.resume(token)
    if (!found) throw refuse('not_signed_in')
    return presentSession(found, deps)
  }

  app.post(
    '/session',
    {
      config: { access: 'public' },
      bodyLimit: BODY_LIMIT,
      schema: { body: schema.SignIn, response: { 200: schema.Session } },
    },
    async (request, reply) => {
      // Signing a visitor in to someone else's account is an attack as well.
      if (sameOrigin(request) === false) throw refuse('foreign_origin')
      const { email, password } = request.body
      const seconds = throttle.attempt([
        `ip ${sourceNetwork(request.ip)}`,
        `email ${email.trim().toLowerCase()}`,
      ])
      if (seconds > 0) {
        void reply.header('retry-after', seconds)
        throw refuse('too_many_attempts', { seconds })
      }
      const userAgent = request.headers['user-agent'] ?? null
      const session = await accounts.signIn({ email, password, ip: request.ip, userAgent })
      if (!session) throw refuse('wrong_credentials')
      const expires = new Date(session.expiresAt)
      void reply.setCookie(SESSION_COOKIE, session.token, { ...cookie(request), expires })
      return present(session.token)
    },
  )

  app.get(
    '/session',
    { config: { access: 'people' }, schema: { response: { 200: schema.Session } } },
    async (request) => present(request.cookies[SESSION_COOKIE]),
  )

  app.delete(
    '/session',
    { config: { access: 'people' }, schema: { response: { 200: SignedOut } } },
    async (request, reply) => {
      await accounts.signOut(request.cookies[SESSION_COOKIE] ?? '')
      void reply.clearCookie(SESSION_COOKIE, cookie(request))
      return { object: 'session' as const, deleted: true as const }
    },
  )
}

function presentSession(
  { user, team }: { user: { id: string; email: string }; team: { id: string; name: string } },
  { config, sandboxInbox }: HttpDeps,
): schema.Session {
  return {
    object: 'session',
    user: { id: user.id, email: user.email },
    team: { id: team.id, name: team.name },
    node: { hostname: config.hostname, version: config.version, sandbox: sandboxInbox !== undefined },
  }
}
