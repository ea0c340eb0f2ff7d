import { generateKeyPair, randomBytes, sign } from 'node:crypto'
import { promisify } from 'node:util'

/**
 * A self-signed certificate, written in DER by hand: Node can read X.509 but not make it, and the packages that
 * can bring thirty others along. Enough for opportunistic TLS between mail servers (RFC 7435).
 */

/** A certificate with its private key, both PEM. */
export interface CertificatePair {
  cert: string
  key: string
}

// Tags of X.690 §8 that a certificate needs.
const [INTEGER, BIT_STRING, OCTET_STRING, OID, UTF8, UTC_TIME, GENERALIZED_TIME] = [2, 3, 4, 6, 12, 23, 24]
const [SEQUENCE, SET] = [0x30, 0x31]
const context = (n: number): number => 0xa0 | n

/** One tag-length-value, X.690 §8.1. */
function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const value = Buffer.concat(parts)
  if (value.length < 0x80) return Buffer.concat([Buffer.of(tag, value.length), value])
  const hex = value.length.toString(16)
  const length = Buffer.from(hex.length % 2 ? `0${hex}` : hex, 'hex')
  return Buffer.concat([Buffer.of(tag, 0x80 | length.length), length, value])
}

const oid = {
  ecdsaWithSha256: der(OID, Buffer.from('2a8648ce3d040302', 'hex')),
  commonName: der(OID, Buffer.from('550403', 'hex')),
  subjectAltName: der(OID, Buffer.from('551d11', 'hex')),
}

/** RFC 5280 §4.1.2.5: two-digit years up to 2049. */
function time(ms: number): Buffer {
  const text = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '')
  return Number(text.slice(0, 4)) < 2050
    ? der(UTC_TIME, Buffer.from(text.slice(2)))
    : der(GENERALIZED_TIME, Buffer.from(text))
}

const day = 24 * 3_600_000

/** The part that is signed (RFC 5280 §4.1.2). */
function toBeSigned(names: [string, ...string[]], publicKey: Uint8Array, now: number): Buffer {
  const serial = randomBytes(16)
  serial[0] = (serial[0]! & 0x7f) | 0x40 // positive, and never shorter
  const name = der(
    SEQUENCE,
    der(SET, der(SEQUENCE, oid.commonName, der(UTF8, Buffer.from(names[0].slice(0, 64))))),
  )
  const altNames = der(SEQUENCE, ...names.map((dns) => der(0x82, Buffer.from(dns))))
  return der(
    SEQUENCE,
    der(context(0), der(INTEGER, Buffer.of(2))), // version 3
    der(INTEGER, serial),
    der(SEQUENCE, oid.ecdsaWithSha256),
    name,
    der(SEQUENCE, time(now - day), time(now + 3650 * day)), // a day of slack for peers whose clocks are behind
    name,
    publicKey,
    der(context(3), der(SEQUENCE, der(SEQUENCE, oid.subjectAltName, der(OCTET_STRING, altNames)))),
  )
}

const pem = (label: string, bytes: Buffer): string =>
  `-----BEGIN ${label}-----\n${bytes.toString('base64').replaceAll(/.{64}/g, '$&\n').trimEnd()}\n-----END ${label}-----\n`

/** Makes a certificate (ECDSA P-256) for `names`, valid for ten years from `now` (Unix milliseconds). */
export async function selfSignedPair(names: [string, ...string[]], now: number): Promise<CertificatePair> {
  const keys = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
  const body = toBeSigned(names, keys.publicKey.export({ type: 'spki', format: 'der' }), now)
  const signature = der(BIT_STRING, Buffer.of(0), sign('sha256', body, keys.privateKey))
  const certificate = der(SEQUENCE, body, der(SEQUENCE, oid.ecdsaWithSha256), signature)
  return {
    cert: pem('CERTIFICATE', certificate),
    key: pem('PRIVATE KEY', keys.privateKey.export({ type: 'pkcs8', format: 'der' })),
  }
}
