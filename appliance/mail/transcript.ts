import type { Reply } from './reply.ts'
import type { Waited } from './waiting.ts'

/** One exchange of an attempt: what we did or said, what came back, how long it took. */
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
  /** Host and address that the step spoke to; null for lookups. */
  host: string | null
  ip: string | null
  /** The command as sent, without CRLF; null where nothing is said. The body itself is never kept, only its size. */
  sent: string | null
  /** The reply, null where none came. */
  reply: Reply | null
  /** What is worth telling beside the reply: an error, the addresses found, why TLS was given up. */
  note: string | null
  /** Milliseconds from the start of the attempt to the start of the step. */
  at: number
  /** Milliseconds that the step took. */
  ms: number
}

/** What TLS was agreed on for the connection that carried the message. */
export interface TlsInfo {
  version: string
  /** Cipher suite by its name in the registry of IANA. */
  cipher: string
  /** Key exchange group, such as X25519MLKEM768; empty where the key exchange has none. Absent in attempts from before it was kept. */
  group?: string
  /** Whether the certificate is valid: chain and name, or by DANE; opportunistic TLS goes on without (RFC 7435). */
  verified: boolean
  /** Why it is not valid, null when it is. */
  error: string | null
  /** What the certificate was measured by: the authorities of this machine, or TLSA records (RFC 7672). Absent as `group` is. */
  by?: 'pkix' | 'dane'
  /** Whether a chain leads to an authority that this machine trusts, and whether the certificate names the host. Absent as `group` is. */
  chainValid?: boolean
  nameMatched?: boolean
  /** Subject, issuer, and validity (ISO 8601) of the certificate shown. */
  subject: string
  issuer: string
  validFrom?: string
  validTo: string
  /** SHA-256 of the certificate, in hexadecimal bytes with colons between. Absent as `group` is. */
  fingerprint?: string
}

/** Who answers for a message, and where the public key is (RFC 6376 §3.5: `d=`, `s=`, `a=`). */
export interface SigningIdentity {
  domain: string
  selector: string
  algorithm: 'rsa-sha256' | 'ed25519-sha256'
}

/** All that was said in one attempt, in order. Data: it is stored, shown and tested as it is. */
export interface Transcript {
  steps: Step[]
  /** Host and address that took the message or refused it last; null when none was reached. */
  host: string | null
  ip: string | null
  tls: TlsInfo | null
  /** The source that the lane gave: an address of ours, or `auto`. Absent where none was needed. */
  source?: string
  /** The DKIM signatures that the message was sent with. Absent where it was not signed, and in attempts from before it was kept. */
  signatures?: SigningIdentity[]
  /** Why the attempt began later than it was due; absent where it did not. */
  waited?: Waited
}
