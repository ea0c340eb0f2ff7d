import type { Reply } from './reply.ts'
import type { PastWait } from './waiting.ts'

/** One step of an attempt: a command or lookup, the response, and how long it took. */
export interface Step {
  name:
    | 'resolve' // DNS lookups that chose the hosts
    | 'policy' // what the recipient domain's policies demand of TLS with a host
    | 'connect'
    | 'greeting'
    | 'ehlo'
    | 'starttls'
    | 'tls' // the handshake
    | 'mail'
    | 'rcpt'
    | 'data'
    | 'body'
    | 'rset'
    | 'quit'
  /** Host and IP of the peer; null for lookups. */
  host: string | null
  ip: string | null
  /** The command as sent, without CRLF; null when nothing was sent. For the message itself, only the size is stored. */
  sent: string | null
  /** The reply; null when there was none. */
  reply: Reply | null
  /** Additional information: an error, the IPs found, why TLS wasn't used. */
  note: string | null
  /** Milliseconds from the start of the attempt to the start of the step. */
  at: number
  /** Duration in milliseconds. */
  ms: number
}

/** TLS parameters of the connection that carried the message. */
export interface TlsInfo {
  version: string
  /** Cipher suite, by its IANA name. */
  cipher: string
  /**
   * Key exchange group, such as X25519MLKEM768; empty when the key exchange has none. Absent in attempts of older
   * versions.
   */
  group?: string
  /**
   * Whether the certificate is valid: by chain and name, or by DANE. Opportunistic TLS continues with an invalid
   * certificate (RFC 7435).
   */
  verified: boolean
  /** Why the certificate isn't valid; null when it is. */
  error: string | null
  /**
   * How the certificate was verified: by this machine's CAs or by TLSA records (RFC 7672). Absent in attempts of older
   * versions.
   */
  by?: 'pkix' | 'dane'
  /**
   * Whether a chain leads to a CA that this machine trusts, and whether the certificate names the host. Absent in
   * attempts of older versions.
   */
  chainValid?: boolean
  nameMatched?: boolean
  /** Subject, issuer and validity (ISO 8601) of the certificate. */
  subject: string
  issuer: string
  validFrom?: string
  validTo: string
  /** SHA-256 of the certificate, in hex bytes separated by colons. Absent in attempts of older versions. */
  fingerprint?: string
}

/** A DKIM signature's domain, selector and algorithm (RFC 6376 §3.5: `d=`, `s=`, `a=`). */
export interface SigningIdentity {
  domain: string
  selector: string
  algorithm: 'rsa-sha256' | 'ed25519-sha256'
}

/** The record of one attempt, in order. Plain data: stored, shown and tested as is. */
export interface Transcript {
  steps: Step[]
  /** Host and IP that accepted the message or refused it last; null when none was reached. */
  host: string | null
  ip: string | null
  tls: TlsInfo | null
  /** The sending IP that the lane chose, or `auto`. Absent when none was needed. */
  source?: string
  /** The DKIM signatures of the message. Absent when it wasn't signed, and in attempts of older versions. */
  signatures?: SigningIdentity[]
  /** Why the attempt began later than it was due; absent when it didn't. */
  waited?: PastWait
}
