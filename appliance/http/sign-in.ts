/** Sets the cookies of a sign-in, and checks every sign-in request of an unauthenticated client. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SignInResult } from '../accounts/accounts.ts'
import { refuse } from '../mail/refusals.ts'
import { getSourceNetwork } from '../wire/networks.ts'
import { isSameOrigin } from './access.ts'
import { removeCookie, storeCookie, SECOND_STEP_COOKIE, SESSION_COOKIE } from './cookies.ts'
import type { SignInStep } from '../api/session.ts'
import type { Throttle } from '../clock/throttle.ts'

/** Maximum size of a body that unauthenticated clients may send: an address, a password or a passkey's response. */
export const MAX_UNAUTHENTICATED_BODY = 16 * 1024

/** Sets the cookie of a session or of the second step. Each replaces the other. */
export function setSignInCookie(request: FastifyRequest, reply: FastifyReply, result: SignInResult): void {
  const answer = { request, reply }
  if (result.kind === 'session') {
    removeCookie(answer, SECOND_STEP_COOKIE)
    storeCookie(answer, SESSION_COOKIE, result.token, result.expiresAt)
    return
  }
  storeCookie(answer, SECOND_STEP_COOKIE, result.ticket, result.expiresAt)
}

/** Formats the response that tells a page which second factors are available. */
export function presentSignInStep(methods: SignInStep['methods']): SignInStep {
  return { object: 'sign_in', next: 'second_factor', methods }
}

/** Returns the IP address and user agent of a sign-in, as sessions store them. */
export function getBrowser(request: FastifyRequest): { ip: string; userAgent: string | null } {
  return { ip: request.ip, userAgent: request.headers['user-agent'] ?? null }
}

/**
 * Allows an unauthenticated attempt if it comes from a page of this server, and not too often from one network or for
 * one of `keys`. Cross-site attempts are refused, because signing a visitor in to another account would be an attack,
 * too (login CSRF).
 */
export function limitUnauthenticated(
  request: FastifyRequest,
  reply: FastifyReply,
  throttle: Pick<Throttle, 'attempt'>,
  ...keys: string[]
): void {
  if (isSameOrigin(request) === false) throw refuse('foreign_origin')
  const seconds = throttle.attempt([`ip ${getSourceNetwork(request.ip)}`, ...keys])
  if (seconds === 0) return
  void reply.header('retry-after', seconds)
  throw refuse('too_many_attempts', { seconds })
}
