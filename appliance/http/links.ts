/**
 * Links that work without a key: what they may show and until when is written in them, under our signature (HMAC-SHA256,
 * RFC 2104). Pure, but for the secret.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

/** What a link opens: one attachment, the page of one email, or a received email or attachment. */
export type LinkKind = 'attachment' | 'share' | 'received'

/** What is written in a link. */
export interface LinkTarget {
  teamId: string
  emailId: string
  /** Empty for the page of an email, and for a received email itself. */
  attachmentId: string
  /** Unix milliseconds. */
  expiresAt: number
}

export interface Links {
  /** The token for the URL: URL-safe, some 160 characters. */
  sign(kind: LinkKind, target: LinkTarget): string
  /** What a token opens; `expired` when it is ours but over; undefined when we did not make it for this. */
  open(kind: LinkKind, token: string, now: number): LinkTarget | 'expired' | undefined
}

/** Octets of the signature that are sent: half of it is beyond guessing (RFC 2104 §5). */
const MAC = 16

/** @param secret at least 32 random octets */
export function createLinks(secret: Uint8Array): Links {
  // The kind is signed and not sent: a token for one purpose is garbage for another.
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
      // As text: base64's last character has bits that mean nothing, and a link has one spelling (RFC 4648 §3.5).
      const [given, ours] = [Buffer.from(signature), Buffer.from(mac(kind, payload))]
      if (rest.length > 0 || given.length !== ours.length || !timingSafeEqual(given, ours)) return undefined
      const parts = Buffer.from(payload, 'base64url').toString('utf8').split(',')
      const [teamId = '', emailId = '', attachmentId = '', until = ''] = parts
      const expiresAt = Number.parseInt(until, 36)
      return expiresAt > now ? { teamId, emailId, attachmentId, expiresAt } : 'expired'
    },
  }
}
