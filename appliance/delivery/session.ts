import type { Reply } from '../mail/reply.ts'
import type { TlsInfo } from '../mail/transcript.ts'
import type { Conversation } from './conversation.ts'
import type { Extensions } from './extensions.ts'
import type { TlsResult } from './tls.ts'
import { checkCertificate, type Peer, serverNameFor, type TlsDemand } from './tls-demand.ts'

/** Greeted, and secured as it was demanded: mail transactions can begin. */
export interface Session {
  readonly conversation: Conversation
  readonly extensions: Extensions
  readonly tls: { info: TlsInfo; peer: Peer; serverName: string } | null
  /** How it began, for reports to the receiver; and the domains to which that was told. */
  readonly result: TlsResult
  readonly told: Set<string>
  /** Unix milliseconds. */
  readonly openedAt: number
  /** MAIL commands said so far. */
  messages: number
  /** The last transaction may not be over for the server: RSET comes before the next. */
  unsettled: boolean
}

/**
 * Whether a session that stands is good enough for a demand. One in plain text serves none but the opportunistic; the certificate
 * is measured anew, by this host's name, so that a session that was opened for less is never taken for more.
 */
export function satisfies(
  { tls, extensions }: Session,
  demand: TlsDemand,
  { host, from }: { host: string; from: string },
  now: number,
): boolean {
  if (demand.kind === 'opportunistic') return true
  if (!tls) return false
  if (demand.kind === 'encrypted') return true
  if (tls.serverName !== serverNameFor(demand, host)) return false
  return !lacksPromise(demand, from, extensions) && checkCertificate(demand, tls.peer, host, now).ok
}

/** RFC 8689 §5: a report with the null reverse-path is not lost for want of the promise; the TLS is demanded all the same. */
export function lacksPromise(demand: TlsDemand, from: string, extensions: Extensions): boolean {
  return requires(demand) && from !== '' && !extensions.has('REQUIRETLS')
}

/** Whether the sender demands TLS on the whole way (RFC 8689). */
export function requires(demand: TlsDemand): boolean {
  return 'requireTls' in demand && demand.requireTls
}

/** Words with which a server that greeted us before tells that the session is over for it, and not the message. */
const SESSION_OVER =
  /\b(per|this|in one|same) (smtp )?(connection|session)\b|time[ -]?(d )?out|\bidle\b|clos(ing|ed) (the )?(connection|channel)|reconnect/i

/** Whether the answer to MAIL or RSET, on a connection that was kept, speaks of the connection (RFC 3463 §3.5: X.4.2 is a bad connection). */
export function endsSession({ code, enhanced, text }: Reply): boolean {
  if (code === 421 || code === 503) return true // 503: it has forgotten our EHLO
  return code >= 400 && (/^[45]\.4\.2$/.test(enhanced ?? '') || SESSION_OVER.test(text))
}
