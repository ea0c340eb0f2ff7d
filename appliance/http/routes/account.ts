import * as api from '../../api/account.ts'
import { serve } from '../serve.ts'
import type { UserSession } from '../../accounts/accounts.ts'
import { refuse } from '../../mail/refusals.ts'
import { presentDeleted, presentList } from '../../api/shared.ts'
import { timestamp } from '../../api/timestamp.ts'
import { browserName } from '../browser-name.ts'
import type { App, HttpDeps } from '../deps.ts'
import { createPasswordChangedNotice } from '../account-mail.ts'
import { createNodeThrottle, limitAttempts, requireSession, renewSessionCookie } from '../own-account.ts'
import { MAX_UNAUTHENTICATED_BODY } from '../sign-in.ts'
import type { Throttle } from '../../clock/throttle.ts'

/** Maximum number of password attempts per minute, so that someone at an unlocked computer can't guess the password. */
const MOST_TRIES = 5
const MINUTE = 60_000

/** The route is about the person's own account, and open to every role. */
const mine = { right: 'none' } as const

/** Routes for one's own account: its password and sessions. `passwords`: limits password attempts per person. */
export function accountRoutes(app: App, deps: HttpDeps, passwords: Throttle): void {
  passwordRoute(app, deps, passwords)
  sessionListRoutes(app, deps)
}

function passwordRoute(app: App, deps: HttpDeps, passwords: Throttle): void {
  const { accounts, sendNotice, config } = deps
  const throttle = createNodeThrottle(deps, MOST_TRIES, MINUTE)
  serve(
    app,
    api.changePassword,
    {
      ...mine,
      secretBody: true,
      audit: { action: 'account.password', personal: true },
      bodyLimit: MAX_UNAUTHENTICATED_BODY,
    },
    async (request, reply) => {
      const own = await requireSession(deps, request)
      const { user, token } = own
      limitAttempts(reply, throttle, user.id)
      limitAttempts(reply, passwords, user.id)
      const { current, new: password } = request.body
      await accounts.changePassword({ userId: user.id, current, password, token })
      await sendNotice(createPasswordChangedNotice(user.email, config.hostname))
      await renewSessionCookie(deps, { request, reply }, own)
      return { object: 'password' as const, changed: true as const }
    },
  )
}

function sessionListRoutes(app: App, deps: HttpDeps): void {
  const { accounts } = deps
  const audited = { ...mine, audit: 'session.end' } as const

  serve(app, api.listAccountSessions, mine, async (request) => {
    const { user, token } = await requireSession(deps, request)
    return presentList((await accounts.listSessions({ userId: user.id, token })).map(presentSession))
  })

  serve(app, api.endAccountSession, audited, async (request) => {
    const { user } = await requireSession(deps, request)
    const id = request.params.id
    if (!(await accounts.endSession({ userId: user.id, id })))
      throw refuse('not_found', { resource: 'Session' })
    return presentDeleted('account_session', id)
  })

  serve(app, api.endAccountSessions, audited, async (request, reply) => {
    const own = await requireSession(deps, request)
    const deleted = await accounts.endOtherSessions({ userId: own.user.id, token: own.token })
    await renewSessionCookie(deps, { request, reply }, own)
    return { object: 'account_session' as const, deleted }
  })
}

function presentSession(session: UserSession): api.AccountSession {
  return {
    object: 'account_session',
    id: session.id,
    created_at: timestamp(session.createdAt),
    last_seen_at: timestamp(session.lastSeenAt),
    expires_at: timestamp(session.expiresAt),
    ip: session.ip,
    browser: browserName(session.userAgent),
    method: session.method,
    strong: session.strong,
    current: session.current,
  }
}
