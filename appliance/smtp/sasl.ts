/** The two SASL mechanisms: PLAIN (RFC 4616), and LOGIN, which has no RFC. Pure. */

/**
 * Accepted user names: `posthaste`, and that of the hosted service, so that its users only have to change host and key.
 * Only the key identifies the client.
 */
export const USERNAMES: ReadonlySet<string> = new Set(['posthaste', 'resend'])

export interface Credentials {
  user: string
  password: string
}

/** Decodes base64 (RFC 4648 §4) to text; undefined if malformed. `=` is the empty string (RFC 4954 §4). */
export function decodeBase64(text: string): string | undefined {
  if (text === '=') return ''
  if (text.length % 4 !== 0 || !/^[A-Za-z\d+/]*={0,2}$/.test(text)) return undefined
  const decoded = Buffer.from(text, 'base64').toString('utf8')
  return decoded.includes('\uFFFD') ? undefined : decoded
}

/**
 * Parses `[authzid] NUL authcid NUL passwd` (RFC 4616 §2). Rejects an authorization identity other than the user
 * itself.
 */
export function decodePlain(text: string): Credentials | undefined {
  const [authzid, user, password, ...rest] = text.split('\0')
  if (user === undefined || password === undefined || rest.length > 0) return undefined
  return authzid === '' || authzid === user ? { user, password } : undefined
}

/**
 * Returns the part of a key that isn't secret and identifies it in logs and counts: `re_` and eight characters. Empty
 * if the password isn't a key.
 */
export function getKeyPrefix(password: string): string {
  return /^re_[A-Za-z\d]{8}(?=_)/.exec(password)?.[0] ?? ''
}
