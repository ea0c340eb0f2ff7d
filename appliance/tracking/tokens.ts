/**
 * Creates and verifies the tokens in tracked links and pixels. A token contains the email and, for a link, its target,
 * signed with HMAC-SHA256 (RFC 2104), so that following a link needs no lookup and no one else can make one. Pure.
 */
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'

/** What the visitor did. */
export type HitKind = 'open' | 'click'

/** The content of a token. */
export interface TrackingToken {
  emailId: string
  /** The target of a link; empty for a pixel. */
  link: string
}

/** Lengths in octets: the email's ID, and the truncated signature, which is still long enough (RFC 2104 §5). */
const ID = 16
const MAC = 16

// The kind is signed but not sent, so that a pixel's token isn't valid for a link. The secret is converted to a key
// object, because `createHmac` takes three times as long with octets: it throws and catches an error internally.
const macOf = (secret: Uint8Array, kind: HitKind, id: Uint8Array, link: Uint8Array): Buffer =>
  createHmac('sha256', createSecretKey(secret))
    .update(`${kind}\n`)
    .update(id)
    .update(link)
    .digest()
    .subarray(0, MAC)

/**
 * Creates the token for a URL: 43 characters, plus 4 for every 3 octets of the link.
 * @param secret at least 32 random octets
 * @param emailId a UUID
 */
export function signToken(secret: Uint8Array, kind: HitKind, { emailId, link }: TrackingToken): string {
  const id = octetsOf(emailId)
  const to = Buffer.from(link, 'utf8')
  return Buffer.concat([id, macOf(secret, kind, id, to), to]).toString('base64url')
}

/** Verifies a token and returns its content; undefined if it wasn't created by this server for this kind. */
export function verifyToken(secret: Uint8Array, kind: HitKind, token: string): TrackingToken | undefined {
  const bytes = Buffer.from(token, 'base64url')
  if (bytes.length < ID + MAC) return undefined
  const [id, mac, to] = [bytes.subarray(0, ID), bytes.subarray(ID, ID + MAC), bytes.subarray(ID + MAC)]
  if (!timingSafeEqual(mac, macOf(secret, kind, id, to))) return undefined
  return { emailId: uuidOf(id), link: to.toString('utf8') }
}

/** An email of a broadcast, and the revision that defines the numbers of its links. */
export interface NumberedEmail {
  revisionId: string
  emailId: string
}

const readerMacOf = (secret: Uint8Array, ids: Uint8Array): Buffer =>
  createHmac('sha256', secret).update('reader\n').update(ids).digest().subarray(0, MAC)

/**
 * Creates the token that all links and the pixel of an email share: 64 characters. It contains no link. The target of a
 * number is looked up in the revision, so numbers need no signature.
 */
export function signRecipientToken(secret: Uint8Array, { revisionId, emailId }: NumberedEmail): string {
  const ids = Buffer.concat([octetsOf(revisionId), octetsOf(emailId)])
  return Buffer.concat([ids, readerMacOf(secret, ids)]).toString('base64url')
}

/** Verifies a token and returns its email; undefined if it wasn't created by this server. */
export function verifyRecipientToken(secret: Uint8Array, token: string): NumberedEmail | undefined {
  const bytes = Buffer.from(token, 'base64url')
  if (bytes.length !== 2 * ID + MAC) return undefined
  const ids = bytes.subarray(0, 2 * ID)
  if (!timingSafeEqual(bytes.subarray(2 * ID), readerMacOf(secret, ids))) return undefined
  return { revisionId: uuidOf(ids.subarray(0, ID)), emailId: uuidOf(ids.subarray(ID)) }
}

const octetsOf = (id: string): Buffer => Buffer.from(id.replaceAll('-', ''), 'hex')
const uuidOf = (octets: Buffer): string =>
  octets.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
