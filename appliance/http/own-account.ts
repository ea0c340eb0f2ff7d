/** For routes about one's own account: whose it is, and whether it is really they. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { PROOF_LIFETIME, relyingParty, type RelyingParty, type SignedIn } from '../accounts/accounts.ts'
import { refuse } from '../mail/refusals.ts'
import { keepCookie, SESSION, shownCookie } from './cookies.ts'
import type { HttpDeps } from './deps.ts'
import { createThrottle, type Throttle } from '../clock/throttle.ts'

/** Passwords that may be tried within an hour in the sessions of one person: as many as strangers have at the sign-in page. */
const MOST_PASSWORDS = 50
const HOUR = 3_600_000

/** Counts them, for all routes that take the password of whoever is signed in. */
export const createPasswordTries = (clock: HttpDeps['clock']): Throttle =>
  createThrottle(clock, MOST_PASSWORDS, HOUR)

/** Whose session it is, and its token. */
export interface Own extends SignedIn {
  token: string
}

/** Who asks, and in which session. Refuses: `not_signed_in`. */
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
 * Whether the person has a factor that this session was not shown: it began before with the password alone, and may be
 * that of somebody who knows the password and nothing else. Pure.
 */
export const isFactorNeeded = ({ session, hasSecondFactor }: SignedIn): boolean =>
  hasSecondFactor && !session.strong

/** Whether the password or a factor was shown just now, and the factor where `isFactorNeeded`. Pure. */
export const isProven = (own: SignedIn, now: number): boolean =>
  !isFactorNeeded(own) && now - own.session.provedAt <= PROOF_LIFETIME

/**
 * Who asks, for what a passer-by at an open browser must not do: the password or a factor was shown just now.
 * Refuses: `proof_required`, `not_signed_in`.
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
 * Gives the browser another token for its session, so that whoever copied the old one is out: where a person shows who they are, gains
 * by it, or puts others out (OWASP ASVS 5.0 §7.2.4). Done last: what the page asks for meanwhile still comes with the old one.
 */
export async function renewCookie(
  { accounts }: Pick<HttpDeps, 'accounts'>,
  answer: { request: FastifyRequest; reply: FastifyReply },
  { token, session }: Own,
): Promise<void> {
  const renewed = await accounts.renewToken({ token })
  if (renewed !== undefined) keepCookie(answer, SESSION, renewed, session.expiresAt)
}

/** Holds tries back by who makes them, or whom they are about. Refuses: `too_many_attempts`. */
export function admitTry(reply: FastifyReply, throttle: Throttle, key: string): void {
  const seconds = throttle.attempt([key])
  if (seconds === 0) return
  void reply.header('retry-after', seconds)
  throw refuse('too_many_attempts', { seconds })
}

/** What passkeys are bound to: the public name of this server, else the name under which the browser found it. */
export function relyingPartyOf(request: FastifyRequest, { config }: Pick<HttpDeps, 'config'>): RelyingParty {
  return relyingParty({ publicUrl: config.peopleUrl, host: request.host })
}
