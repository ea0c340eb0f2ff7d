import { generateKeyPair, randomBytes, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { encodeAltNames, contextTag, encodeDer, OID, encodePem, TAG } from './der.ts'

/**
 * Creates self-signed certificates in DER. Node can't create X.509 certificates, and packages that can have about
 * thirty dependencies. The certificates are sufficient for opportunistic TLS between mail servers (RFC 7435), and for
 * tls-alpn-01 challenges (RFC 8737).
 */

/** A certificate with its private key, both PEM. */
export interface CertificatePair {
  cert: string
  key: string
}

/** Encodes a time: as UTCTime with two-digit years through 2049, as GeneralizedTime after that (RFC 5280 §4.1.2.5). */
function time(ms: number): Buffer {
  const text = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '')
  return Number(text.slice(0, 4)) < 2050
    ? encodeDer(TAG.UTC_TIME, Buffer.from(text.slice(2)))
    : encodeDer(TAG.GENERALIZED_TIME, Buffer.from(text))
}

const day = 24 * 3_600_000

type Names = readonly [string, ...string[]]

/** Encodes the signed part (RFC 5280 §4.1.2). */
function toBeSigned(names: Names, publicKey: Uint8Array, now: number, further: readonly Buffer[]): Buffer {
  const serial = randomBytes(16)
  serial[0] = (serial[0]! & 0x7f) | 0x40 // positive and of constant length
  const name = encodeDer(
    TAG.SEQUENCE,
    encodeDer(
      TAG.SET,
      encodeDer(TAG.SEQUENCE, OID.commonName, encodeDer(TAG.UTF8, Buffer.from(names[0].slice(0, 64)))),
    ),
  )
  return encodeDer(
    TAG.SEQUENCE,
    encodeDer(contextTag(0), encodeDer(TAG.INTEGER, Buffer.of(2))), // version 3
    encodeDer(TAG.INTEGER, serial),
    encodeDer(TAG.SEQUENCE, OID.ecdsaWithSha256),
    name,
    encodeDer(TAG.SEQUENCE, time(now - day), time(now + 3650 * day)), // a day of tolerance for peers whose clocks are slow
    name,
    publicKey,
    encodeDer(contextTag(3), encodeDer(TAG.SEQUENCE, encodeAltNames(names), ...further)),
  )
}

/** Encodes the critical extension with the SHA-256 of the key authorization (RFC 8737 §3). */
const acmeIdentifier = (digest: Uint8Array): Buffer =>
  encodeDer(
    TAG.SEQUENCE,
    OID.acmeIdentifier,
    Buffer.of(0x01, 0x01, 0xff), // critical
    encodeDer(TAG.OCTET_STRING, encodeDer(TAG.OCTET_STRING, digest)),
  )

/**
 * Creates a certificate (ECDSA P-256) for `names`, valid for ten years from `now` (Unix milliseconds).
 * @param challenge SHA-256 of a key authorization, to respond to a tls-alpn-01 challenge (RFC 8737 §3)
 */
export async function createSelfSignedPair(
  names: Names,
  now: number,
  challenge?: Uint8Array,
): Promise<CertificatePair> {
  const keys = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
  const spki = keys.publicKey.export({ type: 'spki', format: 'der' })
  const body = toBeSigned(names, spki, now, challenge ? [acmeIdentifier(challenge)] : [])
  const signature = encodeDer(TAG.BIT_STRING, Buffer.of(0), sign('sha256', body, keys.privateKey))
  const certificate = encodeDer(TAG.SEQUENCE, body, encodeDer(TAG.SEQUENCE, OID.ecdsaWithSha256), signature)
  return {
    cert: encodePem('CERTIFICATE', certificate),
    key: encodePem('PRIVATE KEY', keys.privateKey.export({ type: 'pkcs8', format: 'der' })),
  }
}
