import type { Reply } from '../mail/reply.ts'
import type { TlsInfo } from '../mail/transcript.ts'
import type { Conversation } from './conversation.ts'
import type { Extensions } from './extensions.ts'
import type { TlsResult } from './tls.ts'
import { checkCertificate, type Peer, getSniName, type TlsDemand } from './tls-demand.ts'

/** An open session, with the required TLS, ready for mail transactions. */
export interface Session {
  readonly conversation: Conversation
  readonly extensions: Extensions
  readonly tls: { info: TlsInfo; peer: Peer; serverName: string } | null
  /** The TLS result, for reports to the receiver, and the domains whose reports already count this session. */
  readonly result: TlsResult
  readonly told: Set<string>
  /** Unix milliseconds. */
  readonly openedAt: number
  /** MAIL commands sent so far. */
  messages: number
  /** Whether the server may consider the last transaction unfinished: send RSET before the next. */
  unsettled: boolean
}

/**
 * Whether an open session meets a requirement. A plaintext session only meets the opportunistic one. The certificate is
 * checked again for this host's name, so that a session opened with lower requirements is never reused for higher ones.
 */
export function meetsDemand(
  { tls, extensions }: Session,
  demand: TlsDemand,
  { host, from }: { host: string; from: string },
  now: number,
): boolean {
  if (demand.kind === 'opportunistic') return true
  if (!tls) return false
  if (demand.kind === 'encrypted') return true
  if (tls.serverName !== getSniName(demand, host)) return false
  return !lacksRequireTls(demand, from, extensions) && checkCertificate(demand, tls.peer, host, now).ok
}

/**
 * Reports whether the message needs REQUIRETLS and the server doesn't support it. A message with a null reverse-path
 * doesn't need it, but still needs TLS (RFC 8689 §5).
 */
export function lacksRequireTls(demand: TlsDemand, from: string, extensions: Extensions): boolean {
  return demandsRequireTls(demand) && from !== '' && !extensions.has('REQUIRETLS')
}

/** Whether the sender requires TLS on the whole path (RFC 8689). */
export function demandsRequireTls(demand: TlsDemand): boolean {
  return 'requireTls' in demand && demand.requireTls
}

/** Phrases by which a server says that the session has ended, not that it refuses the message. */
const SESSION_OVER =
  /\b(per|this|in one|same) (smtp )?(connection|session)\b|time[ -]?(d )?out|\bidle\b|clos(ing|ed) (the )?(connection|channel)|reconnect/i

/**
 * Whether the reply to MAIL or RSET on a kept connection is about the connection (RFC 3463 §3.5: X.4.2 is a bad
 * connection).
 */
export function endsSession({ code, enhanced, text }: Reply): boolean {
  if (code === 421 || code === 503) return true // 503: the server has lost our EHLO
  return code >= 400 && (/^[45]\.4\.2$/.test(enhanced ?? '') || SESSION_OVER.test(text))
}
