/** The interface of a running daemon, and its start options. */
import type { Accounts } from '../accounts/accounts.ts'
import type { SmtpListeners, PolicyHostOptions, WebhookHostOptions } from './adapters.ts'
import type { ProgramVersion } from './node.ts'
import type { Clock } from '../clock/clock.ts'
import type { ResolverOptions } from '../dns/resolver.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { Senders } from '../senders/senders.ts'
import type { Storage } from '../storage/storage.ts'
import type { Health } from '../watch/health.ts'
import type { Logger } from '../watch/log.ts'
import type { ClientUsage } from '../watch/metrics.ts'
import type { Cidr } from '../wire/networks.ts'

/** A running daemon. */
export interface RunningDaemon {
  /** Origin of the first HTTP listener, with the actual port. */
  url: string
  /** Origins of all HTTP listeners, those of `http.listen` first. */
  http: string[]
  storage: Storage
  senders: Senders
  accounts: Accounts
  sandbox: Sandbox | null
  /** The SMTP listeners. */
  smtp: Pick<SmtpListeners, 'starttls' | 'implicitTls'>
  /** The listeners for DNS queries, `host:port`. */
  dns: string[]
  /** Origins of `metrics.listen`. */
  metrics: string[]
  /** Checks that the event loop and the storage respond; if not, a restart may help. */
  alive(): Promise<Health>
  /** Returns the current client usage. */
  clients(): ClientUsage
  /** Reloads certificates and data tables. Resolves to the errors; where one occurred, the old version stays in use. */
  reload(): Promise<Error[]>
  /** Stops accepting requests and mail, lets deliveries in flight finish, and closes the storage. */
  stop(): Promise<void>
}

export interface ComposeOptions {
  log: Logger
  clock?: Clock
  /** Uses the simulated internet instead of the real one. */
  sandbox?: boolean
  /** Called when the storage failed; the daemon must exit. */
  onLost?: (error: Error) => void
  /** Overrides for the resolver. */
  resolver?: Partial<ResolverOptions>
  /** Private networks from which attachments may be fetched. */
  fetchNetworks?: readonly Cidr[]
  /** Overrides for sending webhooks, for tests. */
  webhookHosts?: WebhookHostOptions
  /** Overrides for fetching MTA-STS policies, for tests. */
  policyHosts?: PolicyHostOptions
  /** Another version of the program and its PostgreSQL migrations, for tests of upgrades. */
  program?: ProgramVersion
  /** Folder of another dashboard build, for tests. */
  dashboard?: string
  /** How often to look for changes of the queue by other processes, in milliseconds. Default 1000. */
  pollMs?: number
}
