import type { Reply } from './reply.ts'

/** One exchange of an attempt: what we did or said, what came back, how long it took. */
export interface Step {
  name:
    | 'resolve' // DNS lookups that chose the hosts
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
  cipher: string
  /** Whether the certificate chain and name are valid; opportunistic TLS goes on without (RFC 7435). */
  verified: boolean
  /** Why it is not valid, null when it is. */
  error: string | null
  /** Subject, issuer, and end of validity (ISO 8601) of the certificate shown. */
  subject: string
  issuer: string
  validTo: string
}

/** All that was said in one attempt, in order. Data: it is stored, shown and tested as it is. */
export interface Transcript {
  steps: Step[]
  /** Host and address that took the message or refused it last; null when none was reached. */
  host: string | null
  ip: string | null
  tls: TlsInfo | null
}
