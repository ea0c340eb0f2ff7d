import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, RawServerDefault } from 'fastify'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Audience } from '../audience/audience.ts'
import type { Accounts, OwnAccount, ProviderSignIns, SetUp } from '../accounts/accounts.ts'
import type { Capacity } from '../capacity/capacity.ts'
import type { ChallengeAnswers } from '../certificates/certificates.ts'
import type { Clock } from '../clock/clock.ts'
import type { Webhooks } from '../events/events.ts'
import type { Intake, Schedules } from '../intake/intake.ts'
import type { MimeReader } from '../mime/mime.ts'
import type { ReportView, SharedDoctor } from '../insights/insights.ts'
import type { SourceBook } from '../sources/sources.ts'
import type { CertificateView } from '../mail/certificate.ts'
import type { NodeFacts } from '../mail/node.ts'
import type { TlsPolicyView } from '../mail/tls-policy.ts'
import type { Erasures, PropagationWatch, Quotas, RateLimiter, Senders } from '../senders/senders.ts'
import type { ShapingBook } from '../shaping/shaping.ts'
import type { QueueControl } from '../queue/queue.ts'
import type { Storage } from '../storage/storage.ts'
import type { Broadcasts } from '../broadcasts/broadcasts.ts'
import type { Templates } from '../templates/templates.ts'
import type { Tracking } from '../tracking/tracking.ts'
import type { DiskView } from '../housekeeping/housekeeping.ts'
import type { HealthChecks } from '../watch/health.ts'
import type { Logger } from '../watch/log.ts'
import type { Instruments } from '../watch/metrics.ts'
import type { Certificates } from '../wire/certificates.ts'
import type { RetentionDays } from '../api/retention.ts'
import type { SendNotice } from '../intake/notice.ts'

/** The mail that the sandbox captured, newest first: a team's own, and for who runs the appliance what is no team's. */
export interface SandboxInbox {
  list(reader: SandboxReader, limit: number): SandboxMail[]
  get(
    reader: SandboxReader,
    id: string,
  ): Promise<(SandboxMail & { html: string | null; text: string | null; source: string }) | undefined>
}

/** Who looks into the inbox. */
export interface SandboxReader {
  teamId: string
  operator: boolean
}

/** A message that arrived, and what an independent verifier said of it. */
export interface SandboxMail {
  id: string
  receivedAt: number
  /** Envelope. */
  mailFrom: string
  rcptTo: string[]
  /** From the header. */
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

/** All that the server needs from the rest of the appliance. */
export interface HttpDeps {
  storage: Storage
  senders: Omit<Senders, 'watch' | 'close' | 'findDomain' | 'verifyDomain'>
  /** What clients may use at once. */
  capacity: Capacity
  /** Of requests with a key. */
  rateLimiter: RateLimiter
  quotas: Pick<Quotas, 'usageOf' | 'historyOf' | 'planOf' | 'plans'>
  accounts: OwnAccount &
    Pick<
      Accounts,
      'signIn' | 'enter' | 'waiting' | 'finish' | 'factors' | 'resume' | 'signOut' | 'members' | 'teams'
    >
  /** Who else may say who people are. */
  providers: ProviderSignIns
  /** The first run. */
  setUp: Pick<SetUp, 'isOpen' | 'use'>
  /** DNS records on their way. */
  propagation: PropagationWatch
  audience: Omit<Audience, 'start' | 'close'>
  templates: Templates
  broadcasts: Omit<Broadcasts, 'messageOf' | 'start' | 'close'>
  intake: Intake
  /** Reads stored messages. */
  mime: MimeReader
  /** Mail of the appliance itself to people. */
  sendNotice: SendNotice
  schedules: Schedules
  shaping: ShapingBook
  /** The addresses that mail leaves from. */
  sources: Omit<SourceBook, 'host' | 'reconcile'>
  /** The operator's hand on what waits. */
  queue: QueueControl
  doctor: SharedDoctor
  /** What DMARC and TLS reports mean for a domain. */
  reports: ReportView
  /** Erasing people's data by address. */
  erasures: Pick<Erasures, 'begin' | 'survey' | 'get' | 'list'>
  /** How long what is kept, and what it takes. */
  retention: { days: RetentionDays; disk(): Promise<DiskView> }
  webhooks: Webhooks
  /** Opens and clicks; undefined: their links lead nowhere. */
  tracking?: Tracking | undefined
  /** What recipient domains demand of TLS. */
  tlsPolicies: { view(domain: string): Promise<TlsPolicyView>; flush(): Promise<void> }
  instruments: Pick<Instruments, 'page' | 'httpAnswered'>
  health: HealthChecks
  /** The daemon itself. */
  node: { facts(): NodeFacts }
  clock: Clock
  log: Logger
  config: {
    /** Largest request body, in bytes. */
    messageBytes: number
    /** Origin for links; by default the first that listens. */
    publicUrl?: string | undefined
    /** Origin of the dashboard, for links to people; by default the first listener that has it. */
    peopleUrl?: string | undefined
    /** For how long browsers are told to come by HTTPS only. */
    hstsDays?: number
    /** Whether people have listeners of their own, and the others know them not. */
    adminApart?: boolean
    /** Whether requests of apps are kept for GET /logs. */
    logApiUse: boolean
    /** Networks of reverse proxies that are believed. */
    trustProxy: string[]
    /** What the dashboard shows of this node. */
    hostname: string
    version: string
  }
  /** What the listeners of HTTPS show, and what an authority that wants proof of a name is answered. */
  tls?: {
    certificates: Pick<Certificates, 'contextFor'>
    challenges?: ChallengeAnswers | undefined
    /** All of them, for people. */
    list: () => Promise<CertificateView[]>
  }
  /** Folder of the built dashboard; the server says so when it is missing. */
  dashboard: string
  /** Given in the sandbox only. */
  sandboxInbox?: SandboxInbox | undefined
}

/** The Fastify instance as routes see it: bodies have the types of their schemas. */
export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  Logger,
  TypeBoxTypeProvider
>
