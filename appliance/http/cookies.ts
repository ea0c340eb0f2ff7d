/** The cookies of those who sign in: what they are called, and how they are read, kept and dropped. */
import type { FastifyReply, FastifyRequest } from 'fastify'

export interface Cookie {
  readonly name: string
  /** Where the browser shows it, over plain http. */
  readonly path: string
  readonly sameSite: 'strict' | 'lax'
}

/** Who is signed in. */
export const SESSION: Cookie = { name: 'posthaste_session', path: '/', sameSite: 'strict' }

/** Between the two steps of a sign-in. */
export const SECOND_STEP: Cookie = { name: 'posthaste_sign_in', path: '/session', sameSite: 'strict' }

/**
 * Ties a browser that is away at a provider to its ticket. Lax: the provider sends people back by a link from its own site, with
 * which a strict cookie would stay at home.
 */
export const AWAY: Cookie = { name: 'posthaste_provider', path: '/session/oidc', sameSite: 'lax' }

/** Remembers for which account this browser was used. */
export const DEVICE: Cookie = { name: 'posthaste_device', path: '/session', sameSite: 'strict' }

/**
 * What a cookie is called in this connection. Over https the name begins with `__Host-` (RFC 6265bis §4.1.3.2): browsers take such a
 * cookie from this very host only and over https only, so neither another host of the domain nor somebody on a plain connection
 * can plant a session. Under the other name it counts for nothing there.
 */
function nameOf({ protocol }: FastifyRequest, { name }: Cookie): string {
  return protocol === 'https' ? `__Host-${name}` : name
}

/** For no script and no other site, and over https for no plain connection. The prefix demands the path `/`. */
function attributesOf({ protocol }: FastifyRequest, { path, sameSite }: Cookie) {
  const secure = protocol === 'https'
  return { path: secure ? '/' : path, httpOnly: true, sameSite, secure }
}

/** What the browser shows; undefined where it has none. */
export const shownCookie = (request: FastifyRequest, cookie: Cookie): string | undefined =>
  request.cookies[nameOf(request, cookie)]

/** Gives the browser one, in the place of what it had. */
export function keepCookie(
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  cookie: Cookie,
  value: string,
  expiresAt: number,
): void {
  const expires = new Date(expiresAt)
  void reply.setCookie(nameOf(request, cookie), value, { ...attributesOf(request, cookie), expires })
}

/** Takes it away from the browser. */
export function dropCookie(
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  cookie: Cookie,
): void {
  void reply.clearCookie(nameOf(request, cookie), attributesOf(request, cookie))
}
