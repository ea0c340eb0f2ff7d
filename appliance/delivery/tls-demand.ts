/**
 * What a connection's TLS has to be before a message may go through it, and whether a certificate meets that.
 * Decided for each host by `policy/`, obeyed by the conversation.
 */
import type { X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import type { RecordData } from '../dns/dns.ts'
import { matchDane } from './policy/dane.ts'

/** A TLSA record (RFC 6698 §2.1). */
export type Tlsa = RecordData['TLSA']

/**
 * What is demanded of TLS with one host; `why` says where that comes from, in a sentence.
 * opportunistic: any TLS, else plain text (RFC 7435) · encrypted: any certificate, never plain text ·
 * verified: a certificate that is valid for the host (RFC 8461 §4.2, RFC 8689 §4.2.1) ·
 * dane: a certificate that matches one of the usable TLSA records (RFC 7672 §3); `names[0]` is the TLSA base domain, the
 * others are further reference identifiers (§3.2.2).
 * `requireTls`: the server must offer REQUIRETLS too (RFC 8689).
 */
export type TlsDemand =
  | { kind: 'opportunistic' }
  | { kind: 'encrypted'; why: string }
  | { kind: 'verified'; why: string; requireTls: boolean }
  | { kind: 'dane'; why: string; records: Tlsa[]; names: string[]; requireTls: boolean }

/** Failures of a session that TLS reports know (RFC 8460 §4.3). */
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
 * What is known of the other side of a handshake. A socket will do once: Node's `getPeerX509Certificate` tells the certificate the
 * first time only, on clients (nodejs/node#65579). `takePeer` of tls.ts makes one that can be asked again.
 */
export type Peer = Pick<TLSSocket, 'authorized' | 'authorizationError' | 'getPeerX509Certificate'>

/** Whether a certificate meets a demand; `why` completes "the certificate …". */
export type CertificateCheck = { ok: true } | { ok: false; why: string; resultType: TlsResultType }

/** Whether plain text is out of the question. */
export function demandsTls(demand: TlsDemand): boolean {
  return demand.kind !== 'opportunistic'
}

/** The name to say in the TLS handshake's SNI: the TLSA base domain where DANE holds (RFC 7672 §8.1), else the host. */
export function serverNameFor(demand: TlsDemand, host: string): string {
  return demand.kind === 'dane' ? demand.names[0]! : host
}

/**
 * Judges the certificate of a finished handshake, made with `rejectUnauthorized: false` and the server name of `serverNameFor`.
 * @param now Unix milliseconds, for the dates of a chain that DANE anchors
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

/** Codes of OpenSSL and Node for a certificate whose time is over or has not come. */
const DATED = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID'])

/** A chain to a root that this machine trusts, and the host's name as a DNS-ID (RFC 8461 §4.1). */
function checkPkix(socket: Peer, certificate: X509Certificate, host: string): CertificateCheck {
  // Node types it as Error; it is a code (a string) wherever there is one.
  const error = socket.authorized ? '' : String(socket.authorizationError)
  if (DATED.has(error)) {
    const why = error === 'CERT_HAS_EXPIRED' ? 'has expired' : 'is not valid yet'
    return { ok: false, why: `${why} (${certificate.validTo})`, resultType: 'certificate-expired' }
  }
  // The name first: with a wrong name and a good chain Node reports the name, and `subject: never` also refuses a bare CN.
  const mismatch = error === 'ERR_TLS_CERT_ALTNAME_INVALID'
  if (error !== '' && !mismatch)
    return { ok: false, why: `is not trusted (${error})`, resultType: 'certificate-not-trusted' }
  if (mismatch || certificate.checkHost(host, { subject: 'never', partialWildcards: false }) === undefined)
    return { ok: false, why: `is not for ${host}`, resultType: 'certificate-host-mismatch' }
  return { ok: true }
}

/** Longest chain that is looked at; honest ones have up to five certificates. */
const MOST_CERTIFICATES = 10

/** The certificates that the server sent, each with its issuer next. */
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
