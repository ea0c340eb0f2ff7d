/** The two sign-in mechanisms (RFC 4616 PLAIN, and LOGIN as every client knows it). Pure. */

/**
 * User names that are taken: our own, and that of the hosted service, whose clients change nothing but host and key.
 * Neither tells anything: the key says who it is.
 */
export const USERNAMES: ReadonlySet<string> = new Set(['posthaste', 'resend'])

export interface Credentials {
  user: string
  password: string
}

/** Base64 of RFC 4648 §4 as text; undefined for anything else. `=` is the empty string (RFC 4954 §4). */
export function decodeBase64(text: string): string | undefined {
  if (text === '=') return ''
  if (text.length % 4 !== 0 || !/^[A-Za-z\d+/]*={0,2}$/.test(text)) return undefined
  const decoded = Buffer.from(text, 'base64').toString('utf8')
  return decoded.includes('\uFFFD') ? undefined : decoded
}

/** `[authzid] NUL authcid NUL passwd`; an authorisation identity other than the user itself is nobody we know. */
export function decodePlain(text: string): Credentials | undefined {
  const [authzid, user, password, ...rest] = text.split('\0')
  if (user === undefined || password === undefined || rest.length > 0) return undefined
  return authzid === '' || authzid === user ? { user, password } : undefined
}

/** What tells keys apart in logs and counts and opens nothing: `re_` and eight characters. Empty for what is no key. */
export function keyPrefix(password: string): string {
  return /^re_[A-Za-z\d]{8}(?=_)/.exec(password)?.[0] ?? ''
}
