import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, RawServerDefault } from 'fastify'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Audience } from '../audience/audience.ts'
import type { Accounts, OwnAccount, ProviderSignIns, Setup } from '../accounts/accounts.ts'
import type { Capacity } from '../capacity/capacity.ts'
import type { ChallengeResponses } from '../certificates/certificates.ts'
import type { Clock } from '../clock/clock.ts'
import type { Webhooks } from '../events/events.ts'
import type { Intake, ScheduledEmails } from '../intake/intake.ts'
import type { MimeReader } from '../mime/mime.ts'
import type { ReportView, ReputationView, SharedDoctor } from '../insights/insights.ts'
import type { RegionOverview, SourceRegistry } from '../sources/sources.ts'
import type { CertificateView, NodeFacts, NodeView } from '../mail/node.ts'
import type { TlsPolicyView } from '../mail/tls-policy.ts'
import type {
  Erasures,
  PropagationWatch,
  ProviderRuleChecker,
  Quotas,
  RateLimiter,
  Senders,
} from '../senders/senders.ts'
import type { ShapingOperations } from '../shaping/shaping.ts'
import type { QueueControl } from '../queue/queue.ts'
import type { Storage } from '../storage/storage.ts'
import type { AutomationOperations, CustomEvents } from '../automations/operations.ts'
import type { PublicArchives } from '../archive/archive.ts'
import type { Forms } from '../forms/forms.ts'
import type { Broadcasts } from '../broadcasts/broadcasts.ts'
import type { Templates } from '../templates/templates.ts'
import type { Tracking } from '../tracking/tracking.ts'
import type { DiskUsageReport } from '../housekeeping/housekeeping.ts'
import type { HealthChecks } from '../watch/health.ts'
import type { Logger } from '../watch/log.ts'
import type { Instruments } from '../watch/metrics.ts'
import type { Certificates } from '../wire/certificates.ts'
import type { RetentionDays } from '../api/retention.ts'
import type { SendNotice } from '../intake/notice.ts'

/**
 * The mail captured by the sandbox, newest first. A reader sees the mail of their own team and, as an operator, also
 * mail without a team.
 */
export interface SandboxInbox {
  list(reader: SandboxReader, limit: number): SandboxMail[]
  get(
    reader: SandboxReader,
    id: string,
  ): Promise<(SandboxMail & { html: string | null; text: string | null; source: string }) | undefined>
}

/** The reader of the inbox. */
export interface SandboxReader {
  teamId: string
  operator: boolean
}

/** A captured message, with the results of an independent verifier. */
export interface SandboxMail {
  id: string
  receivedAt: number
  /** The sender in the envelope. */
  mailFrom: string
  rcptTo: string[]
  /** The sender in the From header field. */
  from: string
  to: string
  subject: string
  size: number
  tls: string | null
  dkim: string
  spf: string
  dmarc: string
  authenticationResults: string | null
}

/** Dependencies of the HTTP server. */
export interface HttpDeps {
  storage: Storage
  senders: Omit<Senders, 'watch' | 'close' | 'findDomain' | 'verifyDomain'>
  /** Limits the resources that clients use at the same time. */
  capacity: Capacity
  /** Limits the rate of requests with a key. */
  rateLimiter: RateLimiter
  quotas: Pick<Quotas, 'usageOf' | 'historyOf' | 'planOf' | 'plans'>
  /** Checks mail against the rules of mailbox providers. */
  gate: Pick<ProviderRuleChecker, 'rules' | 'standing'>
  accounts: OwnAccount &
    Pick<
      Accounts,
      'signIn' | 'enter' | 'waiting' | 'finish' | 'factors' | 'resume' | 'signOut' | 'members' | 'teams'
    >
  /** Signs in through external identity providers. */
  providers: ProviderSignIns
  /** Creates the first owner. */
  setUp: Pick<Setup, 'isOpen' | 'use'>
  /** Watches the propagation of DNS records. */
  propagation: PropagationWatch
  audience: Omit<Audience, 'start' | 'close'>
  templates: Templates
  broadcasts: Omit<Broadcasts, 'messageOf' | 'start' | 'close'>
  automations: AutomationOperations
  customEvents: CustomEvents
  forms: Omit<Forms, 'start' | 'close'>
  archive: PublicArchives
  intake: Intake
  /** Parses stored messages. */
  mime: MimeReader
  /** Sends the server's own mail to people. */
  sendNotice: SendNotice
  schedules: ScheduledEmails
  shaping: ShapingOperations
  /** The sending IPs. */
  sources: Omit<SourceRegistry, 'host' | 'reconcile'>
  /** The regions, and previews of fail-overs. */
  regions: RegionOverview
  /** The operator's actions on queued mail. */
  queue: QueueControl
  doctor: SharedDoctor
  /** Explains DMARC and TLS reports about a domain. */
  reports: ReportView
  /** How receivers treat the mail of a domain. */
  reputation: ReputationView
  /** Erases people's data by address. */
  erasures: Pick<Erasures, 'begin' | 'survey' | 'get' | 'list'>
  /** Retention periods, and disk usage. */
  retention: { days: RetentionDays; disk(): Promise<DiskUsageReport> }
  webhooks: Webhooks
  /** Records opens and clicks; when undefined, tracking links don't work. */
  tracking?: Tracking | undefined
  /** TLS policies of recipient domains. */
  tlsPolicies: { view(domain: string): Promise<TlsPolicyView>; flush(): Promise<void> }
  instruments: Pick<Instruments, 'page' | 'httpAnswered'>
  health: HealthChecks
  /** Information about this daemon and the other nodes. */
  node: {
    /** Returns the facts about this daemon. */
    facts(): NodeFacts
    /** Lists all nodes of the database. */
    list(): Promise<NodeView[]>
    /** Removes a node that isn't alive, and its sending IPs. Refuses unknown and live nodes. */
    forget(id: string): Promise<void>
    /** Divides a limit that each node counts separately by the number of live nodes. Returns the share of this node. */
    shareOf: (limit: number) => number
  }
  clock: Clock
  log: Logger
  config: {
    /** Maximum size of a request body, in bytes. */
    messageBytes: number
    /** Origin for links. Default: the first listener. */
    publicUrl?: string | undefined
    /** Origin of the dashboard in links for people. Default: the first listener that serves the dashboard. */
    peopleUrl?: string | undefined
    /** How many days browsers are told to use HTTPS only (HSTS). */
    hstsDays?: number
    /** Whether people have their own listeners, so that the other listeners don't serve the dashboard. */
    adminApart?: boolean
    /** Whether requests of apps are kept for GET /logs. */
    logApiUse: boolean
    /** Networks of trusted reverse proxies. */
    trustProxy: string[]
    /** Host name of this node, shown in the dashboard. */
    hostname: string
    version: string
  }
  /** The certificates of HTTPS listeners, and responses to ACME challenges. */
  tls?: {
    certificates: Pick<Certificates, 'contextFor'>
    challenges?: ChallengeResponses | undefined
    /** Returns the MTA-STS policy that a host of ours serves; null for a host without one. */
    policies?: { fileOf(host: string): string | null } | undefined
    /** Lists all certificates for the dashboard. */
    list: () => Promise<CertificateView[]>
  }
  /** Folder of the built dashboard; the server reports when it is missing. */
  dashboard: string
  /** The sandbox's inbox; set only in the sandbox. */
  sandboxInbox?: SandboxInbox | undefined
}

/** The Fastify instance as routes use it: bodies have the types of their schemas. */
export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  Logger,
  TypeBoxTypeProvider
>
