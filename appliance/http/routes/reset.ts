import * as api from '../../api/account.ts'
import { serve } from '../serve.ts'
import { recordAuditEntry, RESET_LIFETIME } from '../../accounts/accounts.ts'
import { refuse } from '../../mail/refusals.ts'
import type { RevokedSignInMethods } from '../../storage/storage.ts'
import { pickReachableOrigin } from '../../tracking/tracking.ts'
import { removeCookie, SESSION_COOKIE } from '../cookies.ts'
import type { App, HttpDeps } from '../deps.ts'
import { createPasswordChangedNotice, createPasswordResetNotice } from '../account-mail.ts'
import { createNodeThrottle } from '../own-account.ts'
import { limitUnauthenticated, MAX_UNAUTHENTICATED_BODY } from '../sign-in.ts'

const MINUTE = 60_000
/** Maximum number of attempts per minute from one network. */
const MOST_TRIES = 10
/** Maximum number of mails per 15 minutes to one address, so that no mailbox is flooded. */
const MOST_MAILS = 3
const MAILS_WINDOW = 15 * MINUTE
/** Maximum number of mails being composed at the same time. */
const MOST_PENDING = 50

const minutes = RESET_LIFETIME / MINUTE
const strangers = { secretBody: true, audit: null } as const

/** Routes to reset a forgotten password: request a link by mail, and use it. */
export function resetRoutes(app: App, deps: HttpDeps, { origin }: { origin: () => string }): void {
  askRoute(app, deps, origin)
  confirmRoute(app, deps)
}

function askRoute(app: App, deps: HttpDeps, origin: () => string): void {
  const { log } = deps
  const tries = createNodeThrottle(deps, MOST_TRIES, MINUTE)
  const mails = createNodeThrottle(deps, MOST_MAILS, MAILS_WINDOW)
  const pending = new Set<Promise<void>>()
  app.addHook('onClose', async () => void (await Promise.all(pending)))

  serve(app, api.askReset, { ...strangers, bodyLimit: MAX_UNAUTHENTICATED_BODY }, (request, reply) => {
    limitUnauthenticated(request, reply, tries)
    const { email } = request.body
    // Also counted for unknown addresses, so that the limit reveals nothing.
    const seconds = mails.attempt([email.trim().toLowerCase()])
    if (seconds > 0 || pending.size >= MOST_PENDING) {
      void reply.header('retry-after', Math.max(1, seconds))
      throw refuse('too_many_attempts', { seconds: Math.max(1, seconds) })
    }
    // Not awaited, because the response time would reveal whether the account exists.
    const work = sendLink(deps, origin(), email).catch((error: unknown) => {
      log.error({ err: error }, 'could not create a password reset link; the user can request another')
    })
    pending.add(work)
    void work.finally(() => pending.delete(work))
    return { object: 'password_reset' as const, minutes }
  })
}

const HELP = 'the operator can create a link: posthaste user reset-link ADDRESS'

/** Sends the link if an account has that address. */
async function sendLink(
  { accounts, sendNotice, log, config }: HttpDeps,
  origin: string,
  email: string,
): Promise<void> {
  const base = pickReachableOrigin(origin)
  if (base === null) {
    log.warn(`did not send a password reset link: set http.public_url for links. Until then, ${HELP}`)
    return
  }
  const link = await accounts.beginReset({ email, byMail: true })
  if (!link) return
  const url = `${base}/dashboard/reset#${link.token}`
  const result = await sendNotice(
    createPasswordResetNotice(link.user.email, url, { minutes, hostname: config.hostname }),
  )
  if (!result.sent) log.warn({ user_id: link.user.id }, `a user is waiting for a password reset; ${HELP}`)
}

function confirmRoute(app: App, deps: HttpDeps): void {
  const { accounts, clock, storage, sendNotice, config } = deps
  const tries = createNodeThrottle(deps, MOST_TRIES, MINUTE)
  const confirmed = { ...strangers, bodyLimit: MAX_UNAUTHENTICATED_BODY } as const
  serve(app, api.confirmReset, confirmed, async (request, reply) => {
    limitUnauthenticated(request, reply, tries)
    const { user, teamId, firstProof } = await accounts.finishReset(request.body)
    await recordAuditEntry(storage, clock, {
      teamId,
      actor: { kind: 'user', name: user.email, ip: request.ip },
      action: 'account.password_reset',
      target: `user ${user.id}`,
      after: firstProof && presentProof(firstProof),
    })
    await sendNotice(createPasswordChangedNotice(user.email, config.hostname, firstProof !== null))
    // This browser's session has ended with all others.
    removeCookie({ request, reply }, SESSION_COOKIE)
    return { object: 'password_reset' as const, email: user.email }
  })
}

const presentProof = ({ identities, passkeys }: RevokedSignInMethods) => ({
  address_proven: true,
  identities_unlinked: identities,
  passkeys_not_alone: passkeys,
})
