/**
 * Signed links that work without a key. They contain their target and their expiry (HMAC-SHA256, RFC 2104). Pure,
 * except for the secret.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

/** The target of a link: an attachment, the page of an email, or a received email or attachment. */
export type LinkKind = 'attachment' | 'share' | 'received'

/** The content of a link. */
export interface LinkTarget {
  teamId: string
  emailId: string
  /** ID of the attachment. Empty for the page of an email, and for a received email itself. */
  attachmentId: string
  /** Unix milliseconds. */
  expiresAt: number
}

export interface LinkSigner {
  /** Returns the token for the URL: URL-safe, about 160 characters. */
  sign(kind: LinkKind, target: LinkTarget): string
  /**
   * Verifies a token and returns its content; `expired` when it is valid but too old; undefined when this server didn't
   * create it for this kind.
   */
  open(kind: LinkKind, token: string, now: number): LinkTarget | 'expired' | undefined
}

/** Length of the signature in octets. Truncated to half, it is still unguessable (RFC 2104 §5). */
const MAC = 16

/**
 * Creates the signer of links.
 * @param secret at least 32 random octets
 */
export function createLinkSigner(secret: Uint8Array): LinkSigner {
  // The kind is signed but not part of the token, so that a token is only valid for its own kind.
  const mac = (kind: LinkKind, payload: string): string =>
    createHmac('sha256', secret).update(`${kind}\n${payload}`).digest().subarray(0, MAC).toString('base64url')
  return {
    sign(kind, { teamId, emailId, attachmentId, expiresAt }) {
      const text = [teamId, emailId, attachmentId, expiresAt.toString(36)].join(',')
      const payload = Buffer.from(text).toString('base64url')
      return `${payload}.${mac(kind, payload)}`
    },
    open(kind, token, now) {
      const [payload = '', signature = '', ...rest] = token.split('.')
      // Compare as text: the last base64 character has unused bits, and a link must have only one spelling (RFC 4648
      // §3.5).
      const [given, ours] = [Buffer.from(signature), Buffer.from(mac(kind, payload))]
      if (rest.length > 0 || given.length !== ours.length || !timingSafeEqual(given, ours)) return undefined
      const parts = Buffer.from(payload, 'base64url').toString('utf8').split(',')
      const [teamId = '', emailId = '', attachmentId = '', until = ''] = parts
      const expiresAt = Number.parseInt(until, 36)
      return expiresAt > now ? { teamId, emailId, attachmentId, expiresAt } : 'expired'
    },
  }
}
