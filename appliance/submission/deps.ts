import type { Clock } from '../clock/clock.ts'
import type { Intake, MessageReader } from '../intake/intake.ts'
import type { RateLimiter, Senders } from '../senders/senders.ts'
import type { RequestLog } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import type { Certificates } from '../wire/certificates.ts'
import type { Cidr } from '../wire/networks.ts'
import type { Gate } from './gate.ts'
import type { Memory } from './memory.ts'

/** All that the door needs from the rest of the appliance. */
export interface SubmissionDeps {
  senders: Pick<Senders, 'authenticate' | 'authorize' | 'callerOf'>
  rateLimiter: RateLimiter
  intake: Pick<Intake, 'accept'>
  certificates: Certificates
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
  /** Connections at once, in all and from one address. */
  maxConnections: number
  maxConnectionsPerAddress: number
  /** Balancers whose PROXY header is believed, and demanded. */
  proxyProtocolFrom: readonly Cidr[]
  /** The port on which strangers hear a clear refusal of their recipients; 25 but in tests. */
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
  memory: Memory
  reader: MessageReader
}
