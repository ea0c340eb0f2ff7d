import type { Capacity } from '../capacity/capacity.ts'
import type { Clock } from '../clock/clock.ts'
import type { Inbound } from '../inbound/inbound.ts'
import type { Intake } from '../intake/intake.ts'
import type { MimeReader } from '../mime/mime.ts'
import type { RateLimiter, Senders } from '../senders/senders.ts'
import type { RequestLog } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import type { Certificates } from '../wire/certificates.ts'
import type { Cidr } from '../wire/networks.ts'
import type { Gate } from './gate.ts'

/** All that the door needs from the rest of the appliance. */
export interface SubmissionDeps {
  senders: Pick<Senders, 'authenticate' | 'authorize' | 'callerOf'>
  rateLimiter: RateLimiter
  intake: Pick<Intake, 'accept'>
  mime: Pick<MimeReader, 'read'>
  /** Takes what clients at port 25 bring without sign-in. */
  inbound: Pick<Inbound, 'messageBytes' | 'addressee' | 'admit' | 'keep'>
  certificates: Certificates
  /** What clients may use at once. */
  capacity: Capacity
  /** Where sessions are noted beside requests of the API; null: nowhere. */
  requestLog: { add(entry: RequestLog): void } | null
  clock: Clock
  log: Logger
  config: SubmissionConfig
}

export interface SubmissionConfig {
  hostname: string
  /** Largest message, in octets. */
  messageBytes: number
  /** Whether recipients see neither the name nor the address of the client that submitted a message. */
  hideClient: boolean
  /** Balancers whose PROXY header is believed, and demanded. */
  proxyProtocolFrom: readonly Cidr[]
  /** The port that takes mail without sign-in: to return paths and to postmaster. 25 but in tests. */
  relayPort?: number
}

/** What a listener demands of its clients. */
export type ListenerKind =
  | { name: 'starttls' }
  | { name: 'implicit_tls' }
  /** No AUTH and no TLS: the network and the key stand for the client. */
  | { name: 'trusted'; networks: readonly Cidr[]; apiKeyId: string }

/** What all sessions share. */
export interface Shared extends SubmissionDeps {
  gate: Gate
  /** Begins what clients have said: so many sessions in each turn of the event loop. */
  share: (job: () => void) => void
  /** Begins handshakes of implicit TLS: so many in each turn. */
  handshakes: (job: () => void) => void
}
