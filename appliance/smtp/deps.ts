import type { Capacity } from '../capacity/capacity.ts'
import type { Clock } from '../clock/clock.ts'
import type { RequestLog } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import type { Certificates } from '../wire/certificates.ts'
import type { Cidr } from '../wire/networks.ts'
import type { MailHandler, SubmissionHandler } from './handler.ts'
import type { NetworkBans } from './gate.ts'

/** Everything that the SMTP server needs from other modules. */
export interface SmtpServerDeps {
  /** Accepts messages of authenticated clients. */
  submission: SubmissionHandler
  /** Accepts mail on port 25 from unauthenticated clients. */
  publicMx: MailHandler
  certificates: Certificates
  /** Limits the connections and memory that clients use at the same time. */
  capacity: Capacity
  /** Log that records sessions along with API requests; null if there is none. */
  requestLog: { add(entry: RequestLog): void } | null
  clock: Clock
  log: Logger
  /** Divides a limit that each node counts separately by the number of live nodes. Default: there is only one. */
  shareOf?: (limit: number) => number
  config: SmtpConfig
}

export interface SmtpConfig {
  hostname: string
  /** Load balancers whose PROXY header is required and trusted. */
  proxyProtocolFrom: readonly Cidr[]
  /** Port of the public MX, which accepts mail without authentication; 25 by default. */
  mxPort?: number | undefined
}

/** The kind of a listener, which determines what it requires of its clients. */
export type ListenerKind =
  | { name: 'starttls' }
  | { name: 'implicit_tls' }
  /** Requires neither AUTH nor TLS. Clients in these networks send with this API key. */
  | { name: 'trusted'; networks: readonly Cidr[]; apiKeyId: string }

/** State shared by all sessions. */
export interface SharedState extends SmtpServerDeps {
  /**
   * Bans and failure counts. They are separate, so that failures of a network's mail servers don't lock out its apps,
   * and vice versa.
   */
  gates: { submission: NetworkBans; publicMx: NetworkBans }
  /** Schedules the processing of input: a limited number of sessions per turn of the event loop. */
  share: (job: () => void) => void
  /** Schedules handshakes of implicit TLS: a limited number per turn of the event loop. */
  handshakes: (job: () => void) => void
}
