import * as api from '../../api/factors.ts'
import { serve } from '../serve.ts'
import type { Credential, UserSecondFactors, RelyingParty } from '../../accounts/accounts.ts'
import { refuse } from '../../mail/refusals.ts'
import type { Static } from 'typebox'
import { timestamp } from '../../api/timestamp.ts'
import type { App, HttpDeps } from '../deps.ts'
import {
  createNodeThrottle,
  limitAttempts,
  needsSecondFactor,
  hasRecentProof,
  requireSession,
  requireRecentProof,
  getRelyingParty,
  renewSessionCookie,
  type SessionWithToken,
} from '../own-account.ts'
import { MAX_UNAUTHENTICATED_BODY } from '../sign-in.ts'
import type { Throttle } from '../../clock/throttle.ts'

/**
 * Maximum number of attempts per minute of one person to re-authenticate. Each attempt with a password costs a hash.
 */
const MOST_TRIES = 5
const MINUTE = 60_000

/** The route is about the person's own account, and open to every role. */
const mine = { right: 'none' } as const
/** Records only that the action happened, because the response is secret. */
const audited = <T extends string>(action: T) =>
  ({
    ...mine,
    secretBody: true,
    audit: { action: `account.${action}` as const, personal: true },
  }) as const
/** Configuration of a route that changes nothing yet. */
const step = { ...mine, secretBody: true, audit: null } as const

/** Routes for one's own second factors. `passwords`: limits password attempts per person. */
export function accountFactorRoutes(app: App, deps: HttpDeps, passwords: Throttle): void {
  overviewRoute(app, deps)
  proofRoutes(app, deps, passwords)
  totpRoutes(app, deps)
  passkeyRoutes(app, deps)
}

function overviewRoute(app: App, deps: HttpDeps): void {
  serve(app, api.getFactors, { ...mine }, async (request) => {
    const own = await requireSession(deps, request)
    return present(await deps.accounts.factors.own(own.user.id), own, deps.clock.now())
  })
}

function proofRoutes(app: App, deps: HttpDeps, passwords: Throttle): void {
  const { factors } = deps.accounts
  const throttle = createNodeThrottle(deps, MOST_TRIES, MINUTE)

  serve(
    app,
    api.proveIdentity,
    { ...audited('proof'), bodyLimit: MAX_UNAUTHENTICATED_BODY },
    async (request, reply) => {
      const own = await requireSession(deps, request)
      const { user, token } = own
      limitAttempts(reply, throttle, user.id)
      const answer = answerOf(request.body, getRelyingParty(request, deps))
      if ('password' in answer) {
        if (needsSecondFactor(own)) throw refuse('factor_needed')
        limitAttempts(reply, passwords, user.id)
      }
      await factors.prove({ token, userId: user.id, answer })
      await renewSessionCookie(deps, { request, reply }, own)
      return { object: 'proof' as const, proved: true as const }
    },
  )

  serve(app, api.getPasskeyProofOptions, { ...step }, async (request, reply) => {
    const { user } = await requireSession(deps, request)
    limitAttempts(reply, throttle, user.id)
    const options = await factors.requestProof({ userId: user.id, rp: getRelyingParty(request, deps) })
    return { object: 'passkey_options' as const, options }
  })
}

/** Returns the proof that was given, which must be of exactly one kind. */
function answerOf(given: Static<typeof api.Proof>, rp: RelyingParty): Credential {
  const { password, code, recovery_code: recoveryCode, response } = given
  if (password !== undefined) return { password }
  if (code !== undefined) return { code }
  if (recoveryCode !== undefined) return { recoveryCode }
  if (response !== undefined) return { passkey: response, rp }
  throw refuse('missing_field', { field: 'password' })
}

function totpRoutes(app: App, deps: HttpDeps): void {
  const { factors } = deps.accounts

  serve(app, api.startTotp, { ...step }, async (request) => {
    const { user } = await requireRecentProof(deps, request)
    const started = await factors.startTotp({ user, issuer: `Posthaste ${deps.config.hostname}` })
    return { object: 'totp' as const, ...started }
  })

  serve(app, api.confirmTotp, audited('totp.add'), async (request, reply) => {
    const own = await requireRecentProof(deps, request)
    const { user, token } = own
    const codes = await factors.confirmTotp({ userId: user.id, token, code: request.body.code })
    await renewSessionCookie(deps, { request, reply }, own)
    return { object: 'factor' as const, recovery_codes: codes }
  })

  serve(app, api.removeTotp, audited('totp.remove'), async (request) => {
    const { user } = await requireRecentProof(deps, request)
    if (!(await factors.removeTotp(user.id))) throw refuse('not_found', { resource: 'Authenticator app' })
    return { object: 'factor' as const, deleted: true as const }
  })

  serve(app, api.renewRecoveryCodes, audited('recovery_codes.renew'), async (request) => {
    const { user } = await requireRecentProof(deps, request)
    const codes = await factors.renewRecoveryCodes(user.id)
    return { object: 'recovery_codes' as const, recovery_codes: codes }
  })
}

function passkeyRoutes(app: App, deps: HttpDeps): void {
  const { factors } = deps.accounts
  const missing = () => refuse('not_found', { resource: 'Passkey' })

  serve(app, api.getPasskeyCreationOptions, { ...step }, async (request) => {
    const { user } = await requireRecentProof(deps, request)
    const options = await factors.startPasskey({ user, rp: getRelyingParty(request, deps) })
    return { object: 'passkey_options' as const, options }
  })

  serve(
    app,
    api.addPasskey,
    { ...audited('passkey.add'), bodyLimit: MAX_UNAUTHENTICATED_BODY },
    async (request, reply) => {
      const own = await requireRecentProof(deps, request)
      const { user, token } = own
      const { name, response } = request.body
      const rp = getRelyingParty(request, deps)
      const added = await factors.addPasskey({
        userId: user.id,
        token,
        rp,
        name: name.trim(),
        response: response,
      })
      await renewSessionCookie(deps, { request, reply }, own)
      return { object: 'factor' as const, recovery_codes: added.recoveryCodes }
    },
  )

  serve(app, api.renamePasskey, audited('passkey.rename'), async (request) => {
    const { user } = await requireSession(deps, request)
    const id = request.params.id
    const renamed = await factors.renamePasskey({ userId: user.id, id, name: request.body.name.trim() })
    if (!renamed) throw missing()
    return presentPasskey(renamed)
  })

  serve(app, api.removePasskey, audited('passkey.remove'), async (request) => {
    const { user } = await requireRecentProof(deps, request)
    if (!(await factors.removePasskey({ userId: user.id, id: request.params.id }))) throw missing()
    return { object: 'factor' as const, deleted: true as const }
  })
}

function present(
  { totp, passkeys, recoveryCodes }: UserSecondFactors,
  own: SessionWithToken,
  now: number,
): api.Factors {
  return {
    object: 'factors',
    totp: totp && { created_at: timestamp(totp.createdAt), last_used_at: orNull(totp.lastUsedAt) },
    passkeys: passkeys.map(presentPasskey),
    recovery_codes: recoveryCodes,
    has_password: own.user.passwordHash !== null,
    proved: hasRecentProof(own, now),
    factor_needed: needsSecondFactor(own),
  }
}

function presentPasskey(passkey: UserSecondFactors['passkeys'][number]): api.Passkey {
  return {
    object: 'passkey',
    id: passkey.id,
    name: passkey.name,
    host: passkey.rpId,
    synced: passkey.synced,
    created_at: timestamp(passkey.createdAt),
    last_used_at: orNull(passkey.lastUsedAt),
  }
}

const orNull = (at: number | null) => (at === null ? null : timestamp(at))
