/** Authenticates people for routes about their own account. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { PROOF_LIFETIME, relyingParty, type RelyingParty, type SignedIn } from '../accounts/accounts.ts'
import { refuse } from '../mail/refusals.ts'
import { keepCookie, SESSION, shownCookie } from './cookies.ts'
import type { HttpDeps } from './deps.ts'
import { createThrottle, type Throttle } from '../clock/throttle.ts'

/**
 * Maximum number of password attempts per hour in all sessions of one person, the same as for strangers on the sign-in
 * page.
 */
const MOST_PASSWORDS = 50
const HOUR = 3_600_000

/** Limits attempts on all routes that take the signed-in person's password. */
export const createPasswordTries = (clock: HttpDeps['clock']): Throttle =>
  createThrottle(clock, MOST_PASSWORDS, HOUR)

/** A session with its token. */
export interface Own extends SignedIn {
  token: string
}

/** Returns the requesting session. Refuses: `not_signed_in`. */
export async function ownSession(
  { accounts }: Pick<HttpDeps, 'accounts'>,
  request: FastifyRequest,
): Promise<Own> {
  const token = shownCookie(request, SESSION) ?? ''
  const found = await accounts.resume(token)
  if (!found) throw refuse('not_signed_in')
  return { ...found, token }
}

/**
 * Whether the person has a second factor that this session hasn't used. The session began earlier, with the password
 * only, and may belong to someone who knows only the password. Pure.
 */
export const isFactorNeeded = ({ session, hasSecondFactor }: SignedIn): boolean =>
  hasSecondFactor && !session.strong

/** Whether the password or a factor was used recently, and no second factor is missing (`isFactorNeeded`). Pure. */
export const isProven = (own: SignedIn, now: number): boolean =>
  !isFactorNeeded(own) && now - own.session.provedAt <= PROOF_LIFETIME

/**
 * Returns the requesting session for actions that a passer-by at an unlocked computer must not take. Requires that the
 * password or a factor was used recently. Refuses: `proof_required`, `not_signed_in`.
 */
export async function provenSession(
  deps: Pick<HttpDeps, 'accounts' | 'clock'>,
  request: FastifyRequest,
): Promise<Own> {
  const own = await ownSession(deps, request)
  if (!isProven(own, deps.clock.now())) throw refuse('proof_required')
  return own
}

/**
 * Replaces the browser's session token, so that a copied token becomes invalid. Used when a person re-authenticates,
 * gains rights, or signs out other sessions (OWASP ASVS 5.0 §7.2.4). Call this last, because concurrent requests of the
 * page still use the old token.
 */
export async function renewCookie(
  { accounts }: Pick<HttpDeps, 'accounts'>,
  answer: { request: FastifyRequest; reply: FastifyReply },
  { token, session }: Own,
): Promise<void> {
  const renewed = await accounts.renewToken({ token })
  if (renewed !== undefined) keepCookie(answer, SESSION, renewed, session.expiresAt)
}

/**
 * Limits attempts per key, which identifies the person who makes the attempt, or the account that it is for. Refuses:
 * `too_many_attempts`.
 */
export function admitTry(reply: FastifyReply, throttle: Throttle, key: string): void {
  const seconds = throttle.attempt([key])
  if (seconds === 0) return
  void reply.header('retry-after', seconds)
  throw refuse('too_many_attempts', { seconds })
}

/**
 * Returns the host that passkeys are bound to: the public name of this server, or else the name that the browser used.
 */
export function relyingPartyOf(request: FastifyRequest, { config }: Pick<HttpDeps, 'config'>): RelyingParty {
  return relyingParty({ publicUrl: config.peopleUrl, host: request.host })
}
