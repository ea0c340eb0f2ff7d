import type { Capacity } from '../capacity/capacity.ts'
import type { Clock } from '../clock/clock.ts'
import type { RequestLog } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import type { Certificates } from '../wire/certificates.ts'
import type { Cidr } from '../wire/networks.ts'
import type { Door, SubmissionDoor } from './door.ts'
import type { Gate } from './gate.ts'

/** All that the server needs from the rest of the appliance. */
export interface SmtpServerDeps {
  /** Takes messages of those who sign in. */
  submission: SubmissionDoor
  /** Takes what clients at port 25 bring without sign-in. */
  publicMx: Door
  certificates: Certificates
  /** What clients may use at once. */
  capacity: Capacity
  /** Where sessions are noted beside requests of the API; null: nowhere. */
  requestLog: { add(entry: RequestLog): void } | null
  clock: Clock
  log: Logger
  config: SmtpConfig
}

export interface SmtpConfig {
  hostname: string
  /** Balancers whose PROXY header is believed, and demanded. */
  proxyProtocolFrom: readonly Cidr[]
  /** The port of the public MX, which takes mail without sign-in. 25 but in tests. */
  relayPort?: number
}

/** What a listener demands of its clients. */
export type ListenerKind =
  | { name: 'starttls' }
  | { name: 'implicit_tls' }
  /** No AUTH and no TLS: the network and the key stand for the client. */
  | { name: 'trusted'; networks: readonly Cidr[]; apiKeyId: string }

/** What all sessions share. */
export interface Shared extends SmtpServerDeps {
  /** Who is kept out, by what they did: a network that errs as a mail server must not lock out the apps behind it, nor they it. */
  gates: { submission: Gate; publicMx: Gate }
  /** Begins what clients have said: so many sessions in each turn of the event loop. */
  share: (job: () => void) => void
  /** Begins handshakes of implicit TLS: so many in each turn. */
  handshakes: (job: () => void) => void
}
