import type { Answer, OwnFactors, RelyingParty } from '../../accounts/accounts.ts'
import { refuse } from '../../mail/refusals.ts'
import type { Static } from 'typebox'
import { timestamp } from '../../api/timestamp.ts'
import type { App, HttpDeps } from '../deps.ts'
import {
  admitTry,
  isFactorNeeded,
  isProven,
  ownSession,
  provenSession,
  relyingPartyOf,
  renewCookie,
  type Own,
} from '../own-account.ts'
import { readId } from '../query.ts'
import * as schema from '../schemas/factors.ts'
import { STRANGERS_BODY } from '../sign-in.ts'
import { createThrottle, type Throttle } from '../throttle.ts'

/** Tries of one person to show who it is, within a minute: each with a password costs a hash. */
const MOST_TRIES = 5
const MINUTE = 60_000

/** For every role: it is one's own. */
const mine = { access: 'people', right: 'none' } as const
/** The log tells that it was done; what was answered is secret. */
const audited = <T extends string>(action: T) =>
  ({
    ...mine,
    secretBody: true,
    audit: { action: `account.${action}` as const, noun: 'account', personal: true },
  }) as const
/** A step that changes nothing yet. */
const step = { ...mine, secretBody: true, audit: null } as const

/** One's own second factors. `passwords`: tries at one's own, by person. */
export function accountFactorRoutes(app: App, deps: HttpDeps, passwords: Throttle): void {
  overviewRoute(app, deps)
  proofRoutes(app, deps, passwords)
  totpRoutes(app, deps)
  passkeyRoutes(app, deps)
}

function overviewRoute(app: App, deps: HttpDeps): void {
  app.get(
    '/account/factors',
    { config: mine, schema: { response: { 200: schema.Factors } } },
    async (request) => {
      const own = await ownSession(deps, request)
      return present(await deps.accounts.factors.own(own.user.id), own, deps.clock.now())
    },
  )
}

function proofRoutes(app: App, deps: HttpDeps, passwords: Throttle): void {
  const { factors } = deps.accounts
  const throttle = createThrottle(deps.clock, MOST_TRIES, MINUTE)

  app.post(
    '/account/proof',
    {
      config: audited('proof'),
      bodyLimit: STRANGERS_BODY,
      schema: { body: schema.Proof, response: { 200: schema.Proven } },
    },
    async (request, reply) => {
      const own = await ownSession(deps, request)
      const { user, token } = own
      admitTry(reply, throttle, user.id)
      const answer = answerOf(request.body, relyingPartyOf(request, deps))
      if ('password' in answer) {
        if (isFactorNeeded(own)) throw refuse('factor_needed')
        admitTry(reply, passwords, user.id)
      }
      await factors.prove({ token, userId: user.id, answer })
      await renewCookie(deps, { request, reply }, own)
      return { object: 'proof' as const, proved: true as const }
    },
  )

  app.post(
    '/account/proof/options',
    { config: step, schema: { response: { 200: schema.PasskeyOptions } } },
    async (request, reply) => {
      const { user } = await ownSession(deps, request)
      admitTry(reply, throttle, user.id)
      const options = await factors.requestProof({ userId: user.id, rp: relyingPartyOf(request, deps) })
      return { object: 'passkey_options' as const, options }
    },
  )
}

/** The one way that was given. */
function answerOf(given: Static<typeof schema.Proof>, rp: RelyingParty): Answer {
  const { password, code, recovery_code: recoveryCode, response } = given
  if (password !== undefined) return { password }
  if (code !== undefined) return { code }
  if (recoveryCode !== undefined) return { recoveryCode }
  if (response !== undefined) return { passkey: response, rp }
  throw refuse('missing_field', { field: 'password' })
}

function totpRoutes(app: App, deps: HttpDeps): void {
  const { factors } = deps.accounts

  app.post(
    '/account/totp',
    { config: step, schema: { response: { 200: schema.TotpStarted } } },
    async (request) => {
      const { user } = await provenSession(deps, request)
      const started = await factors.startTotp({ user, issuer: `Posthaste ${deps.config.hostname}` })
      return { object: 'totp' as const, ...started }
    },
  )

  app.post(
    '/account/totp/confirm',
    {
      config: audited('totp.add'),
      schema: { body: schema.GivenCode, response: { 200: schema.FactorAdded } },
    },
    async (request, reply) => {
      const own = await provenSession(deps, request)
      const { user, token } = own
      const codes = await factors.confirmTotp({ userId: user.id, token, code: request.body.code })
      await renewCookie(deps, { request, reply }, own)
      return { object: 'factor' as const, recovery_codes: codes }
    },
  )

  app.delete(
    '/account/totp',
    { config: audited('totp.remove'), schema: { response: { 200: schema.FactorRemoved } } },
    async (request) => {
      const { user } = await provenSession(deps, request)
      if (!(await factors.removeTotp(user.id))) throw refuse('not_found', { resource: 'Authenticator app' })
      return { object: 'factor' as const, deleted: true as const }
    },
  )

  app.post(
    '/account/recovery-codes',
    { config: audited('recovery_codes.renew'), schema: { response: { 200: schema.RecoveryCodes } } },
    async (request) => {
      const { user } = await provenSession(deps, request)
      const codes = await factors.renewRecoveryCodes(user.id)
      return { object: 'recovery_codes' as const, recovery_codes: codes }
    },
  )
}

function passkeyRoutes(app: App, deps: HttpDeps): void {
  const { factors } = deps.accounts
  const missing = () => refuse('not_found', { resource: 'Passkey' })

  app.post(
    '/account/passkeys/options',
    { config: step, schema: { response: { 200: schema.PasskeyOptions } } },
    async (request) => {
      const { user } = await provenSession(deps, request)
      const options = await factors.startPasskey({ user, rp: relyingPartyOf(request, deps) })
      return { object: 'passkey_options' as const, options }
    },
  )

  app.post(
    '/account/passkeys',
    {
      config: audited('passkey.add'),
      bodyLimit: STRANGERS_BODY,
      schema: { body: schema.AddPasskey, response: { 200: schema.FactorAdded } },
    },
    async (request, reply) => {
      const own = await provenSession(deps, request)
      const { user, token } = own
      const { name, response } = request.body
      const rp = relyingPartyOf(request, deps)
      const added = await factors.addPasskey({
        ...{ userId: user.id, token, rp, name: name.trim() },
        response: response,
      })
      await renewCookie(deps, { request, reply }, own)
      return { object: 'factor' as const, recovery_codes: added.recoveryCodes }
    },
  )

  app.patch(
    '/account/passkeys/:id',
    {
      config: audited('passkey.rename'),
      schema: { body: schema.RenamePasskey, response: { 200: schema.Passkey } },
    },
    async (request) => {
      const { user } = await ownSession(deps, request)
      const id = readId(request.params)
      const renamed = await factors.renamePasskey({ userId: user.id, id, name: request.body.name.trim() })
      if (!renamed) throw missing()
      return presentPasskey(renamed)
    },
  )

  app.delete(
    '/account/passkeys/:id',
    { config: audited('passkey.remove'), schema: { response: { 200: schema.FactorRemoved } } },
    async (request) => {
      const { user } = await provenSession(deps, request)
      if (!(await factors.removePasskey({ userId: user.id, id: readId(request.params) }))) throw missing()
      return { object: 'factor' as const, deleted: true as const }
    },
  )
}

function present({ totp, passkeys, recoveryCodes }: OwnFactors, own: Own, now: number): schema.Factors {
  return {
    object: 'factors',
    totp: totp && { created_at: timestamp(totp.createdAt), last_used_at: orNull(totp.lastUsedAt) },
    passkeys: passkeys.map(presentPasskey),
    recovery_codes: recoveryCodes,
    has_password: own.user.passwordHash !== null,
    proved: isProven(own, now),
    factor_needed: isFactorNeeded(own),
  }
}

function presentPasskey(passkey: OwnFactors['passkeys'][number]): schema.Passkey {
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
