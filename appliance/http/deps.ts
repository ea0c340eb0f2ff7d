import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, RawServerDefault } from 'fastify'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Accounts } from '../accounts/accounts.ts'
import type { Clock } from '../clock/clock.ts'
import type { Intake, Schedules } from '../intake/intake.ts'
import type { Quotas, RateLimiter, Senders } from '../senders/senders.ts'
import type { Storage } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'

/** The mail that the sandbox captured, newest first. */
export interface SandboxInbox {
  list(limit: number): SandboxMail[]
  get(
    id: string,
  ): Promise<(SandboxMail & { html: string | null; text: string | null; source: string }) | undefined>
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
}

/** All that the server needs from the rest of the appliance. */
export interface HttpDeps {
  storage: Pick<
    Storage,
    | 'listEmails'
    | 'getEmail'
    | 'getHistory'
    | 'getMessage'
    | 'nextDue'
    | 'saveLogs'
    | 'listLogs'
    | 'getLog'
    | 'secret'
  >
  senders: Omit<Senders, 'watch' | 'close' | 'findDomain' | 'verifyDomain'>
  /** Of requests with a key. */
  rateLimiter: RateLimiter
  quotas: Pick<Quotas, 'usageOf'>
  accounts: Pick<Accounts, 'signIn' | 'resume' | 'signOut'>
  intake: Intake
  schedules: Schedules
  clock: Clock
  log: Logger
  config: {
    /** Largest request body, in bytes. */
    messageBytes: number
    /** Origin for links; by default the first that listens. */
    publicUrl?: string | undefined
    /** Whether requests of apps are kept for GET /logs. */
    logApiUse: boolean
    /** Networks of reverse proxies that are believed. */
    trustProxy: string[]
    /** What the dashboard shows of this node. */
    hostname: string
    version: string
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
