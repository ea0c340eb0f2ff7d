/** Sets the cookies of a sign-in, and checks every sign-in request of an unauthenticated client. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SignInResult } from '../accounts/accounts.ts'
import { refuse } from '../mail/refusals.ts'
import { sourceNetwork } from '../wire/networks.ts'
import { sameOrigin } from './access.ts'
import { dropCookie, keepCookie, SECOND_STEP, SESSION } from './cookies.ts'
import type { SignInStep } from '../api/session.ts'
import type { Throttle } from '../clock/throttle.ts'

/** Maximum size of a body that unauthenticated clients may send: an address, a password or a passkey's response. */
export const STRANGERS_BODY = 16 * 1024

/** Sets the cookie of a session or of the second step. Each replaces the other. */
export function keepSignIn(request: FastifyRequest, reply: FastifyReply, result: SignInResult): void {
  const answer = { request, reply }
  if (result.kind === 'session') {
    dropCookie(answer, SECOND_STEP)
    keepCookie(answer, SESSION, result.token, result.expiresAt)
    return
  }
  keepCookie(answer, SECOND_STEP, result.ticket, result.expiresAt)
}

/** Formats the response that tells a page which second factors are available. */
export function presentStep(methods: SignInStep['methods']): SignInStep {
  return { object: 'sign_in', next: 'second_factor', methods }
}

/** Returns the IP address and user agent of a sign-in, as sessions store them. */
export function browserOf(request: FastifyRequest): { ip: string; userAgent: string | null } {
  return { ip: request.ip, userAgent: request.headers['user-agent'] ?? null }
}

/**
 * Allows an unauthenticated attempt if it comes from a page of this server, and not too often from one network or for
 * one of `keys`. Cross-site attempts are refused, because signing a visitor in to another account would be an attack,
 * too (login CSRF).
 */
export function admitStranger(
  request: FastifyRequest,
  reply: FastifyReply,
  throttle: Pick<Throttle, 'attempt'>,
  ...keys: string[]
): void {
  if (sameOrigin(request) === false) throw refuse('foreign_origin')
  const seconds = throttle.attempt([`ip ${sourceNetwork(request.ip)}`, ...keys])
  if (seconds === 0) return
  void reply.header('retry-after', seconds)
  throw refuse('too_many_attempts', { seconds })
}
