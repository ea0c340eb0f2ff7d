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

/**
 * Kind of TLS handshake: `full` offers everything this machine supports, `reduced` offers less, `none` means plaintext.
 */
export type HandshakeKind = 'full' | 'reduced' | 'none'

/**
 * Options for a smaller ClientHello. Node 24 with OpenSSL 3.5 sends 1591 bytes to a host name of 14 letters, mostly the
 * key share of X25519MLKEM768. That exceeds one segment of 1460 bytes, and some middleboxes and old servers drop or
 * reset a ClientHello that doesn't fit in one segment. With these groups, signature algorithms and ciphers it takes 293
 * bytes.
 *
 * Neither ClientHello offers TLS 1.0 or 1.1: RFC 8996 forbids both, and OpenSSL supports them only at security level 0,
 * to which every other server could then be downgraded.
 */
const REDUCED: ConnectionOptions = {
  ecdhCurve: 'X25519:P-256:P-384',
  sigalgs: [
    'ecdsa_secp256r1_sha256',
    'rsa_pss_rsae_sha256',
    'rsa_pkcs1_sha256',
    'ecdsa_secp384r1_sha384',
    'rsa_pss_rsae_sha384',
    'rsa_pkcs1_sha384',
    'rsa_pss_rsae_sha512',
    'rsa_pkcs1_sha512',
    'ed25519',
  ].join(':'),
  ciphers: [
    'TLS_AES_128_GCM_SHA256',
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'ECDHE+AESGCM',
    'ECDHE+CHACHA20',
    'ECDHE+AES',
    'DHE+AESGCM',
    'DHE+AES',
    'RSA+AESGCM',
    'RSA+AES',
  ].join(':'),
}

/** Returns the options of a handshake. The certificate is checked afterwards, against the requirement. */
export function handshakeOptions(
  serverName: string,
  hello: Exclude<HandshakeKind, 'none'>,
): ConnectionOptions {
  return {
    host: serverName,
    ...(isIP(serverName) ? {} : { servername: serverName }),
    minVersion: 'TLSv1.2',
    rejectUnauthorized: false, // unauthenticated encryption is better than none (RFC 7435)
    ...(hello === 'reduced' ? REDUCED : {}),
  }
}

/** The TLS result of a session, for reports to the receiver (RFC 8460 §4.3). */
export interface TlsResult {
  /** Result according to the TLS requirement. Without one, TLS with any certificate is a success. */
  resultType: 'successful-session' | TlsResultType
  /** Result as if a valid certificate were required, for policies in testing mode. */
  webPki: 'successful-session' | TlsResultType
  /** What went wrong, in words; null if nothing did. */
  reason: string | null
  sendingIp: string | null
  receivingHost: string
  receivingIp: string
  /** The server's name in its EHLO reply; null when it gave none. */
  receivingHelo: string | null
}

/** Returns the name of a subject or issuer for people. */
function nameOf(part: { CN?: string | string[]; O?: string | string[] } | undefined): string {
  const name = part?.CN ?? part?.O ?? ''
  return Array.isArray(name) ? name.join(', ') : name
}

function isoDate(date: string | undefined): string {
  const time = Date.parse(date ?? '')
  return Number.isNaN(time) ? '' : new Date(time).toISOString()
}

/** DNS-IDs only, and wildcards of a whole label only (RFC 9525 §6.3). */
const NAMES = { subject: 'never', partialWildcards: false } as const
const MISMATCH = 'ERR_TLS_CERT_ALTNAME_INVALID'

/** Reads the peer of a finished handshake and keeps its certificate, which the socket returns only once. */
export function capturePeer(socket: TLSSocket): Peer {
  const { authorized, authorizationError } = socket
  const certificate = socket.getPeerX509Certificate()
  return { authorized, authorizationError, getPeerX509Certificate: () => certificate }
}

/** Checks a certificate as if a valid one were required. */
export function checkWebPki(peer: Peer, host: string, now: number): CertificateCheck {
  return checkCertificate({ kind: 'verified', why: '', requireTls: false }, peer, host, now)
}

/**
 * A certificate, with the result of the check against the requirement and of the check as if a valid one were required.
 */
export interface CheckedCertificate {
  peer: Peer
  host: string
  demand: TlsDemand
  check: CertificateCheck
  pkix: CertificateCheck
}

/** Describes the negotiated TLS and the check of the certificate. */
export function describeTls(
  socket: TLSSocket,
  { peer, host, demand, check, pkix }: CheckedCertificate,
): TlsInfo {
  // All fields are empty when the server hung up at the same moment, whatever their types say.
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
