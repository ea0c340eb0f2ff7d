/**
 * What stands in tracked links and pixels: the email, and for a link where it leads, under our signature (HMAC-SHA256, RFC 2104).
 * Nothing has to be looked up to follow one, and nobody else can make one. Pure, but for the secret.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

/** What a person, or a machine, did. */
export type HitKind = 'open' | 'click'

/** What a token says. */
export interface Tracked {
  emailId: string
  /** Where a link leads; empty for a pixel. */
  link: string
}

/** Octets of the email's id, and of the signature: half of it is beyond guessing (RFC 2104 §5). */
const ID = 16
const MAC = 16

// The kind is signed and not sent: the token of a pixel is garbage as that of a link.
const macOf = (secret: Uint8Array, kind: HitKind, id: Uint8Array, link: Uint8Array): Buffer =>
  createHmac('sha256', secret).update(`${kind}\n`).update(id).update(link).digest().subarray(0, MAC)

/**
 * The token for the URL: 43 characters, and 4 for every 3 octets of the link.
 * @param secret at least 32 random octets
 * @param emailId a UUID
 */
export function signToken(secret: Uint8Array, kind: HitKind, { emailId, link }: Tracked): string {
  const id = Buffer.from(emailId.replaceAll('-', ''), 'hex')
  const to = Buffer.from(link, 'utf8')
  return Buffer.concat([id, macOf(secret, kind, id, to), to]).toString('base64url')
}

/** What a token says; undefined when we did not make it for this. */
export function openToken(secret: Uint8Array, kind: HitKind, token: string): Tracked | undefined {
  const bytes = Buffer.from(token, 'base64url')
  if (bytes.length < ID + MAC) return undefined
  const [id, mac, to] = [bytes.subarray(0, ID), bytes.subarray(ID, ID + MAC), bytes.subarray(ID + MAC)]
  if (!timingSafeEqual(mac, macOf(secret, kind, id, to))) return undefined
  const emailId = id.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  return { emailId, link: to.toString('utf8') }
}
