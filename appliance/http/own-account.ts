/** Authenticates people for routes about their own account. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  PROOF_LIFETIME,
  createRelyingParty,
  type RelyingParty,
  type SignedInUser,
} from '../accounts/accounts.ts'
import { refuse } from '../mail/refusals.ts'
import { storeCookie, SESSION_COOKIE, readCookie } from './cookies.ts'
import type { HttpDeps } from './deps.ts'
import { createThrottle, type Throttle } from '../clock/throttle.ts'

/**
 * Maximum number of password attempts per hour in all sessions of one person, the same as for strangers on the sign-in
 * page.
 */
const MOST_PASSWORDS = 50
const HOUR = 3_600_000

/** Minimum share of a node, so that people can correct a mistake. */
const LEAST_SHARE = 2

/** Limits attempts on this node to its share of `most`, because each node counts separately. */
export const createNodeThrottle = (
  { clock, node }: { clock: HttpDeps['clock']; node: Pick<HttpDeps['node'], 'shareOf'> },
  most: number,
  windowMs: number,
): Throttle => createThrottle(clock, () => Math.max(LEAST_SHARE, node.shareOf(most)), windowMs)

/** Limits attempts on all routes that take the signed-in person's password. */
export const createPasswordThrottle = (deps: Pick<HttpDeps, 'clock' | 'node'>): Throttle =>
  createNodeThrottle(deps, MOST_PASSWORDS, HOUR)

/** A session with its token. */
export interface SessionWithToken extends SignedInUser {
  token: string
}

/** Returns the requesting session. Refuses: `not_signed_in`. */
export async function requireSession(
  { accounts }: Pick<HttpDeps, 'accounts'>,
  request: FastifyRequest,
): Promise<SessionWithToken> {
  const token = readCookie(request, SESSION_COOKIE) ?? ''
  const found = await accounts.resume(token)
  if (!found) throw refuse('not_signed_in')
  return { ...found, token }
}

/**
 * Whether the person has a second factor that this session hasn't used. The session began earlier, with the password
 * only, and may belong to someone who knows only the password. Pure.
 */
export const needsSecondFactor = ({ session, hasSecondFactor }: SignedInUser): boolean =>
  hasSecondFactor && !session.strong

/** Whether the password or a factor was used recently, and no second factor is missing (`needsSecondFactor`). Pure. */
export const hasRecentProof = (own: SignedInUser, now: number): boolean =>
  !needsSecondFactor(own) && now - own.session.provedAt <= PROOF_LIFETIME

/**
 * Returns the requesting session for actions that a passer-by at an unlocked computer must not take. Requires that the
 * password or a factor was used recently. Refuses: `proof_required`, `not_signed_in`.
 */
export async function requireRecentProof(
  deps: Pick<HttpDeps, 'accounts' | 'clock'>,
  request: FastifyRequest,
): Promise<SessionWithToken> {
  const own = await requireSession(deps, request)
  if (!hasRecentProof(own, deps.clock.now())) throw refuse('proof_required')
  return own
}

/**
 * Replaces the browser's session token, so that a copied token becomes invalid. Used when a person re-authenticates,
 * gains rights, or signs out other sessions (OWASP ASVS 5.0 §7.2.4). Call this last, because concurrent requests of the
 * page still use the old token.
 */
export async function renewSessionCookie(
  { accounts }: Pick<HttpDeps, 'accounts'>,
  answer: { request: FastifyRequest; reply: FastifyReply },
  { token, session }: SessionWithToken,
): Promise<void> {
  const renewed = await accounts.renewToken({ token })
  if (renewed !== undefined) storeCookie(answer, SESSION_COOKIE, renewed, session.expiresAt)
}

/**
 * Limits attempts per key, which identifies the person who makes the attempt, or the account that it is for. Refuses:
 * `too_many_attempts`.
 */
export function limitAttempts(reply: FastifyReply, throttle: Throttle, key: string): void {
  const seconds = throttle.attempt([key])
  if (seconds === 0) return
  void reply.header('retry-after', seconds)
  throw refuse('too_many_attempts', { seconds })
}

/**
 * Returns the host that passkeys are bound to: the public name of this server, or else the name that the browser used.
 */
export function getRelyingParty(request: FastifyRequest, { config }: Pick<HttpDeps, 'config'>): RelyingParty {
  return createRelyingParty({ publicUrl: config.peopleUrl, host: request.host })
}
