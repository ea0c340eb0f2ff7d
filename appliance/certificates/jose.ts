/** JSON Web Signatures (RFC 7515) as RFC 8555 §6.2 requires them, with ECDSA P-256 keys. */
import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
  type KeyObject,
} from 'node:crypto'

const base64url = (value: string | Buffer): string => Buffer.from(value).toString('base64url')
const json = (value: unknown): string => base64url(JSON.stringify(value))

/** A signing key, and its public half as JSON Web Key (RFC 7517) with the members in the order of RFC 7638 §3.2. */
export interface SigningKey {
  privateKey: KeyObject
  jwk: { crv: string; kty: string; x: string; y: string }
}

/** The body of a signed request. */
export interface Jws {
  protected: string
  payload: string
  signature: string
}

/** Generates a private key, PEM. */
export const generatePrivateKey = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  }) as string

/** Reads a private key from PEM. */
export function parseSigningKey(pem: string): SigningKey {
  const privateKey = createPrivateKey(pem)
  const { crv, kty, x, y } = createPublicKey(privateKey).export({ format: 'jwk' })
  return { privateKey, jwk: { crv: crv!, kty: kty!, x: x!, y: y! } }
}

/** The SHA-256 of the key's required members, in base64url (RFC 7638). */
export const computeThumbprint = ({ jwk }: SigningKey): string =>
  createHash('sha256').update(JSON.stringify(jwk)).digest('base64url')

/**
 * Signs a request.
 * @param payload null for POST-as-GET (RFC 8555 §6.3)
 */
export function signRequest(key: SigningKey, header: Record<string, unknown>, payload: unknown): Jws {
  const head = json({ alg: 'ES256', ...header })
  const body = payload === null ? '' : json(payload)
  const signature = sign('sha256', Buffer.from(`${head}.${body}`), {
    key: key.privateKey,
    dsaEncoding: 'ieee-p1363', // RFC 7518 §3.4
  })
  return { protected: head, payload: body, signature: base64url(signature) }
}

/** Binds the ACME account to an existing customer account of the authority (RFC 8555 §7.3.4). */
export function createExternalBinding(key: SigningKey, keyId: string, hmacKey: string, url: string): Jws {
  const head = json({ alg: 'HS256', kid: keyId, url })
  const body = json(key.jwk)
  const signature = createHmac('sha256', Buffer.from(hmacKey, 'base64url')).update(`${head}.${body}`).digest()
  return { protected: head, payload: body, signature: base64url(signature) }
}
