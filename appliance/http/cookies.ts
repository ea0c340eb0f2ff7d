/** The cookies of people who sign in: their names, and how to read, set and remove them. */
import type { FastifyReply, FastifyRequest } from 'fastify'

export interface Cookie {
  readonly name: string
  /** The path that the cookie is limited to over plain http. */
  readonly path: string
  readonly sameSite: 'strict' | 'lax'
}

/** The session. */
export const SESSION_COOKIE: Cookie = { name: 'posthaste_session', path: '/', sameSite: 'strict' }

/** The ticket between the two steps of a sign-in. */
export const SECOND_STEP_COOKIE: Cookie = { name: 'posthaste_sign_in', path: '/session', sameSite: 'strict' }

/**
 * Connects a browser that was sent to a provider with its ticket. Lax, because people return by a link on the
 * provider's site, for which browsers don't send strict cookies.
 */
export const PROVIDER_SIGN_IN_COOKIE: Cookie = {
  name: 'posthaste_provider',
  path: '/session/oidc',
  sameSite: 'lax',
}

/** Marks a browser as one that was used for an account before. */
export const DEVICE_COOKIE: Cookie = { name: 'posthaste_device', path: '/session', sameSite: 'strict' }

/**
 * Returns the cookie's name for this connection. Over https, it begins with `__Host-` (RFC 6265bis §4.1.3.2): browsers
 * accept such a cookie only from this exact host over https, so that neither another host of the domain nor an attacker
 * on a plaintext connection can plant a session. A cookie with the plain name is ignored there.
 */
function nameOf({ protocol }: FastifyRequest, { name }: Cookie): string {
  return protocol === 'https' ? `__Host-${name}` : name
}

/**
 * Returns attributes that hide the cookie from scripts and other sites and, over https, from plaintext connections. The
 * prefix requires the path `/`.
 */
function attributesOf({ protocol }: FastifyRequest, { path, sameSite }: Cookie) {
  const secure = protocol === 'https'
  return { path: secure ? '/' : path, httpOnly: true, sameSite, secure }
}

/** Returns the cookie's value; undefined when the browser sent none. */
export const readCookie = (request: FastifyRequest, cookie: Cookie): string | undefined =>
  request.cookies[nameOf(request, cookie)]

/** Sets a cookie, replacing an earlier one. */
export function storeCookie(
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  cookie: Cookie,
  value: string,
  expiresAt: number,
): void {
  const expires = new Date(expiresAt)
  void reply.setCookie(nameOf(request, cookie), value, { ...attributesOf(request, cookie), expires })
}

/** Removes a cookie. */
export function removeCookie(
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  cookie: Cookie,
): void {
  void reply.clearCookie(nameOf(request, cookie), attributesOf(request, cookie))
}
