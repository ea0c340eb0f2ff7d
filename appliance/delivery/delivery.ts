/**
 * The door out: what waits in the spool is leased, tried, judged and settled (docs/flow.md, steps 7 to 13).
 * `attempt.ts` is the page to read first.
 */
import type { Clock } from '../clock/clock.ts'
import type { Resolver } from '../dns/dns.ts'
import { createSigner } from '../signing/signing.ts'
import type { Storage } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import { PRIVATE_NETWORKS, type Cidr } from '../wire/networks.ts'
import { attempt } from './attempt.ts'
import { createDispatcher, type Dispatcher } from './dispatch.ts'

export type { Dispatcher } from './dispatch.ts'

export interface DeliveryOptions {
  /** EHLO name. */
  hostname: string
  /** Port of the mail exchangers. */
  port: number
  sourceIps: string[]
  /** Networks that may be delivered to although they are special; private ones always may. */
  allowNetworks: readonly Cidr[]
  maxConnections: number
  maxConnectionsPerDomain: number
  /** Names this process start in leases. */
  owner: string
  /** How often to look for changes that other processes made, in milliseconds. Default 1000. */
  pollMs?: number | undefined
  /** Told when a report to a sender has fallen due. */
  onReportDue?: (() => void) | undefined
}

export interface DeliveryDeps {
  storage: Storage
  resolver: Resolver
  clock: Clock
  log: Logger
  options: DeliveryOptions
}

/** Builds the delivery side of the appliance; it begins with `start()`. */
export function createDelivery({ storage, resolver, clock, log, options }: DeliveryDeps): Dispatcher {
  const { hostname, port, sourceIps, owner } = options
  const deps = {
    storage,
    resolver,
    signer: createSigner(),
    clock,
    random: Math.random,
    options: {
      hostname,
      port,
      sourceIps,
      owner,
      allowNetworks: [...options.allowNetworks, ...PRIVATE_NETWORKS],
    },
  }
  return createDispatcher({
    storage,
    clock,
    log,
    owner,
    attempt: (batch) => attempt(batch, deps),
    maxConnections: options.maxConnections,
    maxConnectionsPerLane: options.maxConnectionsPerDomain,
    pollMs: options.pollMs ?? 1000,
    onReportDue: options.onReportDue,
  })
}
