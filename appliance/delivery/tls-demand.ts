/**
 * The TLS requirements of a connection, and the check of a certificate against them. `policy/` decides them for each
 * host, the conversation enforces them.
 */
import type { X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import type { RecordData } from '../dns/dns.ts'
import { matchDane } from './policy/dane.ts'

/** A TLSA record (RFC 6698 §2.1). */
export type Tlsa = RecordData['TLSA']

/**
 * The TLS requirement for a host; `why` names its source, in a sentence.
 * opportunistic: any TLS, else plaintext (RFC 7435) · encrypted: any certificate, never plaintext · verified: a
 * certificate valid for the host (RFC 8461 §4.2, RFC 8689 §4.2.1) ·
 * dane: a certificate that matches a usable TLSA record (RFC 7672 §3); `names[0]` is the TLSA base domain, the others
 * are additional reference identifiers (§3.2.2).
 * `requireTls`: the server must also offer REQUIRETLS (RFC 8689).
 */
export type TlsDemand =
  | { kind: 'opportunistic' }
  | { kind: 'encrypted'; why: string }
  | { kind: 'verified'; why: string; requireTls: boolean }
  | { kind: 'dane'; why: string; records: Tlsa[]; names: string[]; requireTls: boolean }

/** Failure types in TLS reports (RFC 8460 §4.3). */
export type TlsResultType =
  | 'starttls-not-supported'
  | 'certificate-host-mismatch'
  | 'certificate-expired'
  | 'certificate-not-trusted'
  | 'validation-failure'
  | 'tlsa-invalid'
  | 'dnssec-invalid'
  | 'dane-required'
  | 'sts-policy-fetch-error'
  | 'sts-policy-invalid'
  | 'sts-webpki-invalid'

/**
 * The peer of a handshake. A socket can be used only once: on clients, Node's `getPeerX509Certificate` returns the
 * certificate only on the first call (nodejs/node#65579). `capturePeer` in tls.ts returns a peer that can be read
 * repeatedly.
 */
export type Peer = Pick<TLSSocket, 'authorized' | 'authorizationError' | 'getPeerX509Certificate'>

/** Whether a certificate meets a requirement; `why` completes "the certificate …". */
export type CertificateCheck = { ok: true } | { ok: false; why: string; resultType: TlsResultType }

/** Whether plaintext is forbidden. */
export function demandsTls(demand: TlsDemand): boolean {
  return demand.kind !== 'opportunistic'
}

/** Returns the name for SNI: the TLSA base domain with DANE (RFC 7672 §8.1), else the host. */
export function getSniName(demand: TlsDemand, host: string): string {
  return demand.kind === 'dane' ? demand.names[0]! : host
}

/**
 * Checks the certificate after a handshake, which must be made with `rejectUnauthorized: false` and the name from
 * `getSniName`.
 * @param now Unix milliseconds, for the validity of a chain anchored by DANE
 */
export function checkCertificate(
  demand: TlsDemand,
  socket: Peer,
  host: string,
  now: number,
): CertificateCheck {
  if (demand.kind === 'opportunistic' || demand.kind === 'encrypted') return { ok: true }
  const certificate = socket.getPeerX509Certificate()
  if (!certificate) return { ok: false, why: 'was not presented', resultType: 'validation-failure' }
  if (demand.kind === 'verified') return checkPkix(socket, certificate, host)
  const chain = chainOf(certificate)
  return matchDane(chain, demand.records, demand.names, now)
}

/** Codes of OpenSSL and Node for a certificate that has expired or isn't valid yet. */
const DATED = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID'])

/** Checks for a chain to a root that this machine trusts, and for the host's name as a DNS-ID (RFC 8461 §4.1). */
function checkPkix(socket: Peer, certificate: X509Certificate, host: string): CertificateCheck {
  // Typed as Error by Node, but actually a code (string).
  const error = socket.authorized ? '' : String(socket.authorizationError)
  if (DATED.has(error)) {
    const why = error === 'CERT_HAS_EXPIRED' ? 'has expired' : 'is not valid yet'
    return { ok: false, why: `${why} (${certificate.validTo})`, resultType: 'certificate-expired' }
  }
  // Check the name first: for a wrong name with a valid chain Node reports the name, and `subject: never` also refuses
  // a bare CN.
  const mismatch = error === 'ERR_TLS_CERT_ALTNAME_INVALID'
  if (error !== '' && !mismatch)
    return { ok: false, why: `is not trusted (${error})`, resultType: 'certificate-not-trusted' }
  if (mismatch || certificate.checkHost(host, { subject: 'never', partialWildcards: false }) === undefined)
    return { ok: false, why: `is not for ${host}`, resultType: 'certificate-host-mismatch' }
  return { ok: true }
}

/** Maximum chain length; real ones have up to five certificates. */
const MOST_CERTIFICATES = 10

/** Returns the certificates that the server sent, each followed by its issuer. */
function chainOf(leaf: X509Certificate): X509Certificate[] {
  const chain: X509Certificate[] = []
  for (
    let one: X509Certificate | undefined = leaf;
    one !== undefined && chain.length < MOST_CERTIFICATES && one !== chain.at(-1);
    one = one.issuerCertificate
  ) {
    if (chain.some((known) => known.fingerprint256 === one.fingerprint256)) break
    chain.push(one)
  }
  return chain
}
