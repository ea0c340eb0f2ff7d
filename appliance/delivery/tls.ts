import { isIP } from 'node:net'
import type { CipherNameAndProtocol, ConnectionOptions, TLSSocket } from 'node:tls'
import type { TlsInfo } from '../mail/transcript.ts'
import {
  checkCertificate,
  type CertificateCheck,
  type Peer,
  type TlsDemand,
  type TlsResultType,
} from './tls-demand.ts'

/** How the handshake is begun: with all that this machine can do, with less, or not at all. */
export type Hello = 'full' | 'reduced' | 'none'

/**
 * The first message of the handshake, as Node 24 with OpenSSL 3.5 sends it to a host of 14 letters: 1591 bytes, most of them the
 * key share of X25519MLKEM768. That is more than one segment of 1460 bytes, and some middleboxes and old servers drop or reset what
 * they have not got whole in the first. With the groups, signature algorithms and ciphers below it takes 293 bytes.
 *
 * TLS 1.0 and 1.1 are offered by neither: RFC 8996 forbids both, and OpenSSL speaks them only at security level 0, which would
 * let every other server fall to that level too.
 */
const REDUCED: ConnectionOptions = {
  ecdhCurve: 'X25519:P-256:P-384',
  sigalgs: [
    ...['ecdsa_secp256r1_sha256', 'rsa_pss_rsae_sha256', 'rsa_pkcs1_sha256', 'ecdsa_secp384r1_sha384'],
    ...['rsa_pss_rsae_sha384', 'rsa_pkcs1_sha384', 'rsa_pss_rsae_sha512', 'rsa_pkcs1_sha512', 'ed25519'],
  ].join(':'),
  ciphers: [
    ...['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'],
    ...['ECDHE+AESGCM', 'ECDHE+CHACHA20', 'ECDHE+AES', 'DHE+AESGCM', 'DHE+AES', 'RSA+AESGCM', 'RSA+AES'],
  ].join(':'),
}

/** What the handshake is made with. The certificate is judged afterwards, by what is demanded. */
export function handshakeOptions(serverName: string, hello: Exclude<Hello, 'none'>): ConnectionOptions {
  return {
    host: serverName,
    ...(isIP(serverName) ? {} : { servername: serverName }),
    minVersion: 'TLSv1.2',
    rejectUnauthorized: false, // RFC 7435: better encrypted with a stranger than in the clear
    ...(hello === 'reduced' ? REDUCED : {}),
  }
}

/** What a session's TLS came to, for reports to the receiver (RFC 8460 §4.3). */
export interface TlsResult {
  /** Measured by the demand. Without any, TLS with any certificate is a success. */
  resultType: 'successful-session' | TlsResultType
  /** The same, measured by a demand for a valid certificate: for a policy that is in testing. */
  webPki: 'successful-session' | TlsResultType
  /** What went wrong, in words; null where nothing did. */
  reason: string | null
  sendingIp: string | null
  receivingHost: string
  receivingIp: string
  /** The server's name for itself in its answer to EHLO; null where it gave none. */
  receivingHelo: string | null
}

/** The name in a certificate that people know it by. */
function nameOf(part: { CN?: string | string[]; O?: string | string[] } | undefined): string {
  const name = part?.CN ?? part?.O ?? ''
  return Array.isArray(name) ? name.join(', ') : name
}

function isoDate(date: string | undefined): string {
  const time = Date.parse(date ?? '')
  return Number.isNaN(time) ? '' : new Date(time).toISOString()
}

/** DNS-IDs only, and wildcards of a whole label (RFC 9525 §6.3). */
const NAMES = { subject: 'never', partialWildcards: false } as const
const MISMATCH = 'ERR_TLS_CERT_ALTNAME_INVALID'

/** Reads the other side of a finished handshake, whose socket tells its certificate only once. */
export function takePeer(socket: TLSSocket): Peer {
  const { authorized, authorizationError } = socket
  const certificate = socket.getPeerX509Certificate()
  return { authorized, authorizationError, getPeerX509Certificate: () => certificate }
}

/** A certificate as a demand for a valid one sees it. */
export function webPkiCheck(peer: Peer, host: string, now: number): CertificateCheck {
  return checkCertificate({ kind: 'verified', why: '', requireTls: false }, peer, host, now)
}

/** A certificate with what the demand, and a demand for a valid one, say of it. */
export interface Judged {
  peer: Peer
  host: string
  demand: TlsDemand
  check: CertificateCheck
  pkix: CertificateCheck
}

/** What was agreed on, with the judgement of the certificate. */
export function describeTls(socket: TLSSocket, { peer, host, demand, check, pkix }: Judged): TlsInfo {
  // All are empty when the server hung up in the same moment, whatever their types say.
  const certificate = peer.getPeerX509Certificate()
  const { subject, issuer } = certificate?.toLegacyObject() ?? {}
  const cipher = socket.getCipher() as CipherNameAndProtocol | undefined
  const group = socket.getEphemeralKeyInfo() as { name?: string } | null
  const fault = peer.authorized ? null : String(peer.authorizationError)
  const chainValid = fault === null || fault === MISMATCH
  const byDane = demand.kind === 'dane'
  const pkixError = pkix.ok ? null : (fault ?? MISMATCH)
  return {
    version: socket.getProtocol() ?? 'unknown',
    cipher: cipher?.standardName ?? 'unknown',
    group: group?.name ?? '',
    verified: byDane ? check.ok : pkix.ok,
    error: byDane ? (check.ok ? null : check.why) : pkixError,
    by: byDane ? 'dane' : 'pkix',
    chainValid,
    nameMatched: certificate?.checkHost(host, NAMES) !== undefined,
    subject: nameOf(subject),
    issuer: nameOf(issuer),
    validFrom: isoDate(certificate?.validFrom),
    validTo: isoDate(certificate?.validTo),
    fingerprint: certificate?.fingerprint256 ?? '',
  }
}
