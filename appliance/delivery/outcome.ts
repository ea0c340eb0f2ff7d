import type { Reply } from '../mail/reply.ts'
import type { Phase } from '../mail/bounce.ts'

/**
 * Why a recipient did not get the message in this attempt: a fact, not yet a decision. `judge` decides.
 * reply: the remote said so · dns: nobody could tell · no-route: DNS says that no mail is taken ·
 * network: refused, reset, unreachable · timeout: a deadline of RFC 5321 §4.5.3.2 passed · protocol: not SMTP ·
 * tls: the handshake failed and plain text was not allowed · forbidden: the target is off limits ·
 * requiretls: this server cannot keep REQUIRETLS, another may (RFC 8689 §4.2.1) · unsupported: the remote lacks an extension that the message needs · internal: our own fault, may pass ·
 * gone: what the delivery needs (message, domain, key) is no longer here · stopped: this server stopped during the attempt
 */
export interface Failure {
  kind:
    | 'reply'
    | 'dns'
    | 'no-route'
    | 'network'
    | 'timeout'
    | 'protocol'
    | 'tls'
    | 'requiretls'
    | 'forbidden'
    | 'unsupported'
    | 'internal'
    | 'gone'
    | 'stopped'
  phase: Phase
  host: string | null
  ip: string | null
  reply: Reply | null
  /** Enhanced status code (RFC 3463) where no reply carries one. */
  status?: string
  /** One sentence for people. */
  note: string
}

/** What became of one recipient in one attempt. */
export type Fate =
  { kind: 'accepted'; host: string; ip: string; reply: Reply } | { kind: 'failed'; failure: Failure }

/** What became of an attempt: a fate for each recipient address of the batch. */
export type Outcome = Map<string, Fate>
