import { generateKeyPair, randomBytes, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { altNames, contextTag, der, OID, pem, TAG } from './der.ts'

/**
 * Creates self-signed certificates in DER. Node can't create X.509 certificates, and packages that can have about
 * thirty dependencies. Enough for opportunistic TLS between mail servers (RFC 7435), and for tls-alpn-01 challenges
 * (RFC 8737).
 */

/** A certificate with its private key, both PEM. */
export interface CertificatePair {
  cert: string
  key: string
}

/** Encodes a time; UTCTime with two-digit years through 2049 (RFC 5280 §4.1.2.5). */
function time(ms: number): Buffer {
  const text = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '')
  return Number(text.slice(0, 4)) < 2050
    ? der(TAG.UTC_TIME, Buffer.from(text.slice(2)))
    : der(TAG.GENERALIZED_TIME, Buffer.from(text))
}

const day = 24 * 3_600_000

type Names = readonly [string, ...string[]]

/** Encodes the signed part (RFC 5280 §4.1.2). */
function toBeSigned(names: Names, publicKey: Uint8Array, now: number, further: readonly Buffer[]): Buffer {
  const serial = randomBytes(16)
  serial[0] = (serial[0]! & 0x7f) | 0x40 // positive and of constant length
  const name = der(
    TAG.SEQUENCE,
    der(TAG.SET, der(TAG.SEQUENCE, OID.commonName, der(TAG.UTF8, Buffer.from(names[0].slice(0, 64))))),
  )
  return der(
    TAG.SEQUENCE,
    der(contextTag(0), der(TAG.INTEGER, Buffer.of(2))), // version 3
    der(TAG.INTEGER, serial),
    der(TAG.SEQUENCE, OID.ecdsaWithSha256),
    name,
    der(TAG.SEQUENCE, time(now - day), time(now + 3650 * day)), // a day of tolerance for peers whose clocks are slow
    name,
    publicKey,
    der(contextTag(3), der(TAG.SEQUENCE, altNames(names), ...further)),
  )
}

/** Encodes the critical extension with the SHA-256 of the key authorization (RFC 8737 §3). */
const acmeIdentifier = (digest: Uint8Array): Buffer =>
  der(
    TAG.SEQUENCE,
    OID.acmeIdentifier,
    Buffer.of(0x01, 0x01, 0xff), // critical
    der(TAG.OCTET_STRING, der(TAG.OCTET_STRING, digest)),
  )

/**
 * Creates a certificate (ECDSA P-256) for `names`, valid for ten years from `now` (Unix milliseconds).
 * @param challenge SHA-256 of a key authorization, to respond to a tls-alpn-01 challenge (RFC 8737 §3)
 */
export async function selfSignedPair(
  names: Names,
  now: number,
  challenge?: Uint8Array,
): Promise<CertificatePair> {
  const keys = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
  const spki = keys.publicKey.export({ type: 'spki', format: 'der' })
  const body = toBeSigned(names, spki, now, challenge ? [acmeIdentifier(challenge)] : [])
  const signature = der(TAG.BIT_STRING, Buffer.of(0), sign('sha256', body, keys.privateKey))
  const certificate = der(TAG.SEQUENCE, body, der(TAG.SEQUENCE, OID.ecdsaWithSha256), signature)
  return {
    cert: pem('CERTIFICATE', certificate),
    key: pem('PRIVATE KEY', keys.privateKey.export({ type: 'pkcs8', format: 'der' })),
  }
}
