/** What a sign-in leaves in the browser, and what every door for strangers asks first. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SignInResult } from '../accounts/accounts.ts'
import { refuse } from '../mail/refusals.ts'
import { sourceNetwork } from '../wire/networks.ts'
import { sameOrigin } from './access.ts'
import { dropCookie, keepCookie, SECOND_STEP, SESSION } from './cookies.ts'
import type { SignInStep } from '../api/session.ts'
import type { Throttle } from '../clock/throttle.ts'

/** An address, a password, an answer of a passkey: strangers may send this body. */
export const STRANGERS_BODY = 16 * 1024

/** Gives the browser what it enters with: a session's cookie, or that of the second step. One replaces the other. */
export function keepSignIn(request: FastifyRequest, reply: FastifyReply, result: SignInResult): void {
  const answer = { request, reply }
  if (result.kind === 'session') {
    dropCookie(answer, SECOND_STEP)
    keepCookie(answer, SESSION, result.token, result.expiresAt)
    return
  }
  keepCookie(answer, SECOND_STEP, result.ticket, result.expiresAt)
}

/** What a page is told when a step is missing. */
export function presentStep(methods: SignInStep['methods']): SignInStep {
  return { object: 'sign_in', next: 'second_factor', methods }
}

/** From where somebody enters, as sessions remember it. */
export function browserOf(request: FastifyRequest): { ip: string; userAgent: string | null } {
  return { ip: request.ip, userAgent: request.headers['user-agent'] ?? null }
}

/**
 * Lets a stranger's try through: from our own page, and not too often from one network or for one of `keys`.
 * Signing a visitor in to someone else's account is an attack as well.
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
