import type { Reply } from '../mail/reply.ts'
import type { Phase } from '../mail/bounce.ts'

/**
 * Why a recipient didn't get the message in this attempt: a fact, which `decideVerdict` turns into a decision. reply: the
 * server said so · dns: the lookup failed · no-route: DNS says that the domain accepts no mail · network: refused,
 * reset, unreachable · timeout: a timeout of RFC 5321 §4.5.3.2 · protocol: not SMTP · tls: the handshake failed and
 * plaintext wasn't allowed · forbidden: the target isn't allowed · requiretls: this server lacks REQUIRETLS, another
 * may have it (RFC 8689 §4.2.1) · unsupported: the server lacks an extension that the message needs · internal: a local
 * problem, possibly temporary · gone: the message, domain or key no longer exists · stopped: this server stopped during
 * the attempt
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
  /** Enhanced status code (RFC 3463), for a failure without a reply that has one. */
  status?: string
  /** A sentence for people. */
  note: string
}

/** The result for one recipient in one attempt. */
export type RecipientResult =
  { kind: 'accepted'; host: string; ip: string; reply: Reply } | { kind: 'failed'; failure: Failure }

/** The result of an attempt for each recipient address of the batch. */
export type Outcome = Map<string, RecipientResult>
