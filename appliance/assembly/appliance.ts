/** What a running daemon is to whoever started it, and what it can be started with. */
import type { Accounts } from '../accounts/accounts.ts'
import type { OpenSmtp, PolicyHosts, WebhookHosts } from './adapters.ts'
import type { Clock } from '../clock/clock.ts'
import type { ResolverOptions } from '../dns/resolver.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { Senders } from '../senders/senders.ts'
import type { Storage } from '../storage/storage.ts'
import type { Health } from '../watch/health.ts'
import type { Logger } from '../watch/log.ts'
import type { ClientUse } from '../watch/metrics.ts'
import type { Cidr } from '../wire/networks.ts'

/** A running daemon. */
export interface Appliance {
  /** Origin of the first HTTP listener, with the port it really got. */
  url: string
  /** Origins of all HTTP listeners, those of `http.listen` first. */
  http: string[]
  storage: Storage
  senders: Senders
  accounts: Accounts
  sandbox: Sandbox | null
  /** Where SMTP is spoken. */
  smtp: Pick<OpenSmtp, 'starttls' | 'implicitTls'>
  /** Origins of `metrics.listen`. */
  metrics: string[]
  /** The event loop turns and the storage answers; else a restart may help. */
  alive(): Promise<Health>
  /** What clients use now. */
  clients(): ClientUse
  /** Reads certificates and the tables of data again. Resolves with what could not be used: there the old ones stay. */
  reload(): Promise<Error[]>
  /** Takes nothing new, lets what is in flight finish, closes the storage. */
  stop(): Promise<void>
}

export interface ComposeOptions {
  log: Logger
  clock?: Clock
  /** Runs against the built-in internet instead of the real one. */
  sandbox?: boolean
  /** Called when the storage died under the daemon, which can then only end. */
  onLost?: (error: Error) => void
  /** Overrides for the resolver. */
  resolver?: Partial<ResolverOptions>
  /** Networks from which attachments may be fetched although they are not public. */
  fetchNetworks?: readonly Cidr[]
  /** How webhooks are sent, for tests. */
  webhookHosts?: WebhookHosts
  /** Where MTA-STS policies are had, for tests. */
  policyHosts?: PolicyHosts
  /** The folder of another build of the dashboard, for tests. */
  dashboard?: string
  /** How often the spool is looked at for changes of other processes, in milliseconds. Default 1000. */
  pollMs?: number
}
