import * as api from '../../api/session.ts'
import { serve } from '../serve.ts'
import { refuse } from '../../mail/refusals.ts'
import { listRights } from '../../mail/roles.ts'
import { DEVICE_COOKIE, removeCookie, SESSION_COOKIE, readCookie } from '../cookies.ts'
import type { App, HttpDeps } from '../deps.ts'
import {
  limitUnauthenticated,
  getBrowser,
  setSignInCookie,
  presentSignInStep,
  MAX_UNAUTHENTICATED_BODY,
} from '../sign-in.ts'
import type { SignInThrottle } from '../sign-in-throttle.ts'

/** Routes for signing in to the dashboard, the current session, and signing out. */
export function sessionRoutes(app: App, deps: HttpDeps, signIns: SignInThrottle): void {
  const { accounts } = deps

  serve(app, api.signIn, { audit: null, bodyLimit: MAX_UNAUTHENTICATED_BODY }, async (request, reply) => {
    const { email, password } = request.body
    const device = readCookie(request, DEVICE_COOKIE)
    limitUnauthenticated(request, reply, {
      attempt: () => signIns.attempt({ ip: request.ip, email, device }),
    })
    const result = await accounts.signIn({ email, password, ...getBrowser(request) })
    if (!result) throw refuse('wrong_credentials')
    setSignInCookie(request, reply, result)
    if (result.kind === 'second_factor') return reply.code(202).send(presentSignInStep(result.methods))
    return presentSession(result.token, deps)
  })

  serve(app, api.getSession, { right: 'none' }, async (request) =>
    presentSession(readCookie(request, SESSION_COOKIE), deps),
  )

  serve(app, api.signOut, { right: 'none', audit: 'session.end' }, async (request, reply) => {
    await accounts.signOut(readCookie(request, SESSION_COOKIE) ?? '')
    removeCookie({ request, reply }, SESSION_COOKIE)
    return { object: 'session' as const, deleted: true as const }
  })
}

/** Returns the port on which apps submit mail (RFC 6409 §3.1), because port 25 is blocked in many networks. */
function submissionPort(listeners: readonly string[]): number | null {
  const ports = listeners.flatMap((origin) => /^smtp:.*:(\d+)$/.exec(origin)?.[1] ?? []).map(Number)
  const chosen = ports.find((port) => port === 587) ?? ports.find((port) => port !== 25) ?? ports[0]
  return chosen ?? null
}

/** Formats the session of a token. Refuses: `not_signed_in`. */
export async function presentSession(token: string | undefined, deps: HttpDeps): Promise<api.Session> {
  const { accounts, config, sandboxInbox, storage, clock } = deps
  const found = token === undefined ? undefined : await accounts.resume(token)
  if (!found) throw refuse('not_signed_in')
  const { user, team, role, hasSecondFactor, mfaRequired, session } = found
  const teams = await accounts.teams.teamsOf({ userId: user.id })
  const first = await storage.firstTeam({}, clock.now())
  return {
    object: 'session',
    user: {
      id: user.id,
      email: user.email,
      has_second_factor: hasSecondFactor,
      must_enrol: mfaRequired && !session.strong,
    },
    team: { id: team.id, name: team.name },
    role,
    rights: listRights(role),
    teams: teams.map((one) => ({ id: one.id, name: one.name, role: one.role })),
    operator: first?.id === team.id,
    node: {
      hostname: config.hostname,
      version: config.version,
      sandbox: sandboxInbox !== undefined,
      smtp_port: submissionPort(deps.node.facts().listeners),
    },
  }
}
