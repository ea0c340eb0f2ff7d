import type { Capacity } from '../capacity/capacity.ts'
import type { Clock } from '../clock/clock.ts'
import type { RequestLog } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import type { Certificates } from '../wire/certificates.ts'
import type { Cidr } from '../wire/networks.ts'
import type { MailHandler, SubmissionHandler } from './handler.ts'
import type { Gate } from './gate.ts'

/** Everything that the SMTP server needs from other modules. */
export interface SmtpServerDeps {
  /** Accepts messages of authenticated clients. */
  submission: SubmissionHandler
  /** Accepts mail from unauthenticated clients on port 25. */
  publicMx: MailHandler
  certificates: Certificates
  /** Limits what clients use at once. */
  capacity: Capacity
  /** Where sessions are recorded along with API requests; null for nowhere. */
  requestLog: { add(entry: RequestLog): void } | null
  clock: Clock
  log: Logger
  config: SmtpConfig
}

export interface SmtpConfig {
  hostname: string
  /** Load balancers whose PROXY header is required and trusted. */
  proxyProtocolFrom: readonly Cidr[]
  /** Port of the public MX, which accepts mail without authentication. Default 25. */
  mxPort?: number | undefined
}

/** What a listener requires of its clients. */
export type ListenerKind =
  | { name: 'starttls' }
  | { name: 'implicit_tls' }
  /** Neither AUTH nor TLS: clients in these networks send with this API key. */
  | { name: 'trusted'; networks: readonly Cidr[]; apiKeyId: string }

/** State shared by all sessions. */
export interface Shared extends SmtpServerDeps {
  /**
   * Bans and failure counts. Separate, so that a network that misbehaves as a mail server doesn't lock out apps in it,
   * and the reverse.
   */
  gates: { submission: Gate; publicMx: Gate }
  /** Starts to process input: a limited number of sessions per turn of the event loop. */
  share: (job: () => void) => void
  /** Starts handshakes of implicit TLS: a limited number per turn. */
  handshakes: (job: () => void) => void
}
