/** The cookies of signing in, and what every door for strangers asks first. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SignInResult } from '../accounts/accounts.ts'
import { refuse } from '../mail/refusals.ts'
import { sourceNetwork } from '../wire/networks.ts'
import { sameOrigin, SESSION_COOKIE } from './access.ts'
import type { SignInStep } from './schemas/session.ts'
import type { Throttle } from './throttle.ts'

/** Between the two steps of a sign-in. */
export const SIGN_IN_COOKIE = 'posthaste_sign_in'

/** The second step is asked for below this path only. */
const SIGN_IN_PATH = '/session'

/** An address, a password, an answer of a passkey: strangers may send this body. */
export const STRANGERS_BODY = 16 * 1024

/** How the session's cookie is set and cleared: for no script, no other site, and no plain connection where there is a better one. */
export const sessionCookie = (request: FastifyRequest) =>
  ({ path: '/', httpOnly: true, sameSite: 'strict', secure: request.protocol === 'https' }) as const

/** How that of the second step is. */
export const signInCookie = (request: FastifyRequest) =>
  ({ ...sessionCookie(request), path: SIGN_IN_PATH }) as const

/** Gives the browser what it enters with: a session's cookie, or that of the second step. One replaces the other. */
export function keepSignIn(request: FastifyRequest, reply: FastifyReply, result: SignInResult): void {
  const expires = new Date(result.expiresAt)
  if (result.kind === 'session') {
    void reply.clearCookie(SIGN_IN_COOKIE, signInCookie(request))
    void reply.setCookie(SESSION_COOKIE, result.token, { ...sessionCookie(request), expires })
    return
  }
  void reply.setCookie(SIGN_IN_COOKIE, result.ticket, { ...signInCookie(request), expires })
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
  throttle: Throttle,
  ...keys: string[]
): void {
  if (sameOrigin(request) === false) throw refuse('foreign_origin')
  const seconds = throttle.attempt([`ip ${sourceNetwork(request.ip)}`, ...keys])
  if (seconds === 0) return
  void reply.header('retry-after', seconds)
  throw refuse('too_many_attempts', { seconds })
}
