/**
 * Encodes the part of DER (X.690) that X.509 and PKCS #10 need. Node can read certificates, but can create neither them
 * nor requests.
 */

/** Tags (X.690 §8). */
export const TAG = {
  INTEGER: 2,
  BIT_STRING: 3,
  OCTET_STRING: 4,
  OID: 6,
  UTF8: 12,
  UTC_TIME: 23,
  GENERALIZED_TIME: 24,
  SEQUENCE: 0x30,
  SET: 0x31,
} as const

/** Returns the tag of a constructed, context-specific value. */
export const contextTag = (n: number): number => 0xa0 | n

/** Encodes a tag, length and value (X.690 §8.1). */
export function encodeDer(tag: number, ...parts: Uint8Array[]): Buffer {
  const value = Buffer.concat(parts)
  if (value.length < 0x80) return Buffer.concat([Buffer.of(tag, value.length), value])
  const hex = value.length.toString(16)
  const length = Buffer.from(hex.length % 2 ? `0${hex}` : hex, 'hex')
  return Buffer.concat([Buffer.of(tag, 0x80 | length.length), length, value])
}

/** The object identifiers in use, encoded. */
export const OID = {
  ecdsaWithSha256: encodeDer(TAG.OID, Buffer.from('2a8648ce3d040302', 'hex')),
  commonName: encodeDer(TAG.OID, Buffer.from('550403', 'hex')),
  subjectAltName: encodeDer(TAG.OID, Buffer.from('551d11', 'hex')),
  authorityKeyIdentifier: encodeDer(TAG.OID, Buffer.from('551d23', 'hex')),
  /** The extensions requested in a CSR (RFC 2985 §5.4.2). */
  extensionRequest: encodeDer(TAG.OID, Buffer.from('2a864886f70d01090e', 'hex')),
  /** id-pe-acmeIdentifier (RFC 8737 §3). */
  acmeIdentifier: encodeDer(TAG.OID, Buffer.from('2b0601050507011f', 'hex')),
} as const

/** Encodes the subjectAltName extension with DNS names (RFC 5280 §4.2.1.6). */
export function encodeAltNames(names: readonly string[]): Buffer {
  const list = encodeDer(TAG.SEQUENCE, ...names.map((name) => encodeDer(0x82, Buffer.from(name))))
  return encodeDer(TAG.SEQUENCE, OID.subjectAltName, encodeDer(TAG.OCTET_STRING, list))
}

/** Encodes DER as PEM (RFC 7468). */
export const encodePem = (label: string, bytes: Uint8Array): string =>
  `-----BEGIN ${label}-----\n${Buffer.from(bytes)
    .toString('base64')
    .replaceAll(/.{64}/g, '$&\n')
    .trimEnd()}\n-----END ${label}-----\n`
