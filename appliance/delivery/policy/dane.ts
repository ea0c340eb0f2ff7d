/** Matches certificates with TLSA records (RFC 6698, RFC 7671, RFC 7672 §3). Pure. */
import { createHash, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import type { RecordData } from '../../dns/dns.ts'

/** A TLSA record (RFC 6698 §2.1). */
export type Tlsa = RecordData['TLSA']

const DANE_TA = 2
const DANE_EE = 3

/** The result of the match; `why` completes "the certificate …". */
export type DaneMatch =
  | { ok: true }
  | {
      ok: false
      why: string
      resultType: 'validation-failure' | 'certificate-host-mismatch' | 'certificate-expired'
    }

/** Digest lengths in octets (RFC 6698 §2.1.3). */
const DIGEST_BYTES: Record<number, number> = { 1: 32, 2: 64 }

/**
 * Whether a record is usable for SMTP: DANE-TA(2) or DANE-EE(3) (RFC 7672 §3.1.3 excludes the PKIX usages), with a
 * known selector and matching type, and data of the right length.
 */
export function isUsable({ usage, selector, matching, data }: Tlsa): boolean {
  if (usage !== DANE_TA && usage !== DANE_EE) return false
  if (selector !== 0 && selector !== 1) return false
  if (matching !== 0) return data.length === DIGEST_BYTES[matching]
  return (selector === 0 ? certificateOf(data) : keyOf(data)) !== undefined
}

/** Formats a record as in a zone file, with its data shortened for people. */
export function formatTlsaShort({ usage, selector, matching, data }: Tlsa): string {
  const hex = Buffer.from(data).toString('hex')
  return `${usage} ${selector} ${matching} ${hex.length > 16 ? `${hex.slice(0, 16)}…` : hex}`
}

/** Formats a record in presentation format (RFC 6698 §2.2). */
export function presentTlsa({ usage, selector, matching, data }: Tlsa): string {
  return `${usage} ${selector} ${matching} ${Buffer.from(data).toString('hex').toUpperCase()}`
}

/**
 * Whether a server's chain matches a usable record.
 * @param chain the server's certificate, then each issuer as sent
 * @param names reference identifiers for DANE-TA (RFC 7672 §3.2.2); DANE-EE checks neither names nor dates (§3.1.1)
 * @param now Unix milliseconds
 */
export function matchDane(
  chain: X509Certificate[],
  records: Tlsa[],
  names: string[],
  now: number,
): DaneMatch {
  const leaf = chain[0]
  if (!leaf) return failure('was not presented')
  if (records.some((record) => record.usage === DANE_EE && matches(leaf, record))) return { ok: true }
  let best: DaneMatch = failure('matches none of the TLSA records')
  for (const record of records) {
    if (record.usage !== DANE_TA) continue
    const path = pathTo(record, chain)
    if (!path) continue
    const said = checkPath(path, names, now)
    if (said.ok) return said
    best = said
  }
  return best
}

const failure = (why: string): DaneMatch => ({ ok: false, why, resultType: 'validation-failure' })

/** Whether a record matches this certificate (RFC 6698 §2.1.2, §2.1.3). */
function matches(certificate: X509Certificate, { selector, matching, data }: Tlsa): boolean {
  const whole = selector === 0 ? certificate.raw : spki(certificate.publicKey)
  const digest = matching === 1 ? 'sha256' : 'sha512'
  const shown = matching === 0 ? whole : createHash(digest).update(whole).digest()
  return shown.equals(data)
}

const spki = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' })

function certificateOf(data: Uint8Array): X509Certificate | undefined {
  try {
    return new X509Certificate(data)
  } catch {
    return undefined // a zone may publish arbitrary data
  }
}

function keyOf(data: Uint8Array): KeyObject | undefined {
  try {
    return createPublicKey({ key: Buffer.from(data), type: 'spki', format: 'der' })
  } catch {
    return undefined // as above
  }
}

/**
 * The path from the server's certificate to the trust anchor: the certificates, and the key that anchors the last one.
 */
interface Path {
  certificates: X509Certificate[]
  /** The key that signed the last certificate; undefined when that certificate is the anchor itself. */
  key: KeyObject | undefined
  /** An anchor that was published in DNS but not sent by the server. */
  anchor: X509Certificate | undefined
}

/**
 * Builds the path. Servers send the anchor, too (RFC 7672 §3.1.2), but a record with the whole certificate allows them
 * to leave it out.
 */
function pathTo(record: Tlsa, chain: X509Certificate[]): Path | undefined {
  const at = chain.findIndex((certificate) => matches(certificate, record))
  if (at >= 0) return { certificates: chain.slice(0, at + 1), key: undefined, anchor: undefined }
  if (record.matching !== 0) return undefined
  const anchor = record.selector === 0 ? certificateOf(record.data) : undefined
  const key = anchor ? anchor.publicKey : keyOf(record.data)
  if (!key) return undefined
  const signed = chain.findIndex((certificate) => certificate.verify(key))
  return signed < 0 ? undefined : { certificates: chain.slice(0, signed + 1), key, anchor }
}

/** Extended key usages: serverAuth (RFC 5280 §4.2.1.12), and any. */
const SERVER_AUTH = new Set(['1.3.6.1.5.5.7.3.1', '2.5.29.37.0'])

/** Checks signatures, dates, the right to issue, and the name (RFC 7671 §5.2, RFC 7672 §3.2.2). */
function checkPath({ certificates, key, anchor }: Path, names: string[], now: number): DaneMatch {
  const leaf = certificates[0]!
  const whole = anchor ? [...certificates, anchor] : certificates
  for (const [index, certificate] of whole.entries()) {
    if (now < Date.parse(certificate.validFrom) || now > Date.parse(certificate.validTo)) {
      const why = `is expired or not yet valid, or a certificate in its chain is (${certificate.validTo})`
      return { ok: false, why, resultType: 'certificate-expired' }
    }
    const issuer = whole[index + 1]
    if (!issuer) continue
    if (!issuer.ca || !certificate.checkIssued(issuer) || !certificate.verify(issuer.publicKey))
      return failure('has a broken chain')
  }
  if (!anchor && key && !certificates.at(-1)!.verify(key)) return failure('is not signed by the trust anchor')
  const uses = leaf.keyUsage as string[] | undefined
  if (uses && !uses.some((use) => SERVER_AUTH.has(use))) return failure('is not meant for servers')
  const fits = names.some((name) => leaf.checkHost(name, { partialWildcards: false }) !== undefined)
  if (fits) return { ok: true }
  return { ok: false, why: `is not for ${names.join(' or ')}`, resultType: 'certificate-host-mismatch' }
}
