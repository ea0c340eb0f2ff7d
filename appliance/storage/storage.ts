/**
 * The storage interface. Each method is one transaction, which is executed completely and durably, or not at all. It is
 * complete when the promise resolves. `now` is the caller's clock in Unix milliseconds. Returned objects are plain
 * data.
 *
 * Code outside this folder doesn't know the engine, and uses no rows or transactions. Each noun has a file with its
 * types, reads, writes and SQL. The methods below are derived from the nouns (nouns.ts).
 */
import type { BodyStoreStatus } from './bodies.ts'
import type { Erasure, ErasurePreview, ErasurePreviewArgs } from './erasures/erasures.ts'
import type { methodsByNoun } from './nouns.ts'
import type { Step } from './queue/matching.ts'
import type { NewReceivedEmail, ReceivedLimits } from './received-emails.ts'
import type { ReportRef } from './reports.ts'
import type { PurgeArgs, PurgeResult } from './retention.ts'
import type { NewEmail, PutArgs, PutResult } from './spool/put.ts'

export type { RevokedSignInMethods, User } from './accounts.ts'
export type { ApiKey } from './api-keys.ts'
export { MissingMessage, readOrMissing } from './bodies.ts'
export type { Permission } from './values.ts'
export type { Consent } from './audience/consents.ts'
export type { ContactBatchChange, AddressStatus } from './audience/contact-batches.ts'
export type {
  ContactConditions,
  ContactContext,
  ContactFilter,
  ContactSearchResult,
} from './audience/contact-list.ts'
export type { ContactProperty } from './audience/contact-properties.ts'
export type { PropertyUse } from './audience/property-uses.ts'
export type { Contact, ContactRef } from './audience/contact-rows.ts'
export type { ContactChange, NewContact } from './audience/contacts.ts'
export type { AudienceDay, ContactCounts } from './audience/counts.ts'
export type { NewSignup, Signup, SignupValues } from './audience/form-signups.ts'
export type { ImportBatch, ImportRow } from './audience/import-rows.ts'
export type { ContactImport, ImportPlan, ImportReject, NewContactImport } from './audience/imports.ts'
export type { Membership as ContactSegment, MissingRef } from './audience/memberships.ts'
export type { PreferenceChange, Preferences } from './audience/preferences.ts'
export type { Segment, SizedSegment } from './audience/segments.ts'
export type { ContactTopic, CountedTopic, Topic, TopicRecipient } from './audience/topics.ts'
export type { UnsubscribePageChange } from './audience/unsubscribe-pages.ts'
export type { PendingAlertEmail } from './alerts.ts'
export type { AuditFilter } from './audit.ts'
export type { Automation, AutomationSummary } from './automations/automations.ts'
export type { RunCounts, StepCounts } from './automations/counts.ts'
export type { PendingEvent, OpenStep } from './automations/open-steps.ts'
export type { NewRun, SendingStep, StepEffect, StepResult } from './automations/running.ts'
export type { AutomationRun, AutomationRunStep, ContactRun } from './automations/runs.ts'
export type { CustomEvent } from './automations/custom-events.ts'
export type { SentEvent } from './automations/sent-events.ts'
export type { AbTestState } from './broadcasts/ab-tests.ts'
export type { Broadcast, BroadcastUpdateResult, BroadcastRef, NewBroadcast } from './broadcasts/broadcasts.ts'
export type { ArchivedBroadcast, ArchiveCursor } from './broadcasts/archives.ts'
export type { BroadcastVersion, BroadcastVersionSummary, VersionRecord } from './broadcasts/versions.ts'
export type { Candidate } from './broadcasts/candidates.ts'
export type { WaitingRecipient } from './broadcasts/recipients.ts'
export type { BroadcastRecipient, ClickedLink, RecipientsArgs, RecipientType } from './broadcasts/results.ts'
export type { RecipientRow } from './broadcasts/recipient-rows.ts'
export type { BroadcastEmail } from './spool/enqueue.ts'
export type { BackupMetadata, BackupResult, RestoreResult } from './backup/copy.ts'
export type { StorageMoveOptions, MoveResult } from './move/marker.ts'
export type { ServedDomain } from './delegation.ts'
export type { DkimKey, DkimKeyChange } from './dkim-keys.ts'
export type { Delegation, DkimKeyState } from './values.ts'
export type { Domain, DomainSettings, VerificationSchedule, RecordCheck } from './domains.ts'
export type { DomainStatus, RecordStatus } from './values.ts'
export type { EmailFilter, EmailSearchChunk, FoundEmail } from './email-search.ts'
export type {
  AttachmentInfo,
  Attempt,
  Email,
  EmailEvent,
  EmailHistory,
  EmailSummary,
  ScheduleChangeResult,
  StoredContent,
  Tag,
} from './emails.ts'
export type { Delivery } from './deliveries.ts'
export type { Erasure, ErasurePreview } from './erasures/erasures.ts'
export type { ReportDay, ReportTotal } from './domain-report-sums.ts'
export type { DomainReport, DomainReportLimits, ReportReceivingDomain } from './domain-reports.ts'
export type { LiveEvent } from './events.ts'
export type { Passkey } from './factors.ts'
export type { FactorCounts } from './accounts.ts'
export type { Admission, Identity } from './identities.ts'
export type { FoundInvitation, Invitation, NewInvitation } from './invitations.ts'
export type { LaneDay, LaneRecord } from './lanes.ts'
export type { ListedRequest, LogFilter, RequestLog, RequestLogSummary } from './logs.ts'
export type { BreakdownSum, MetricsSum } from './metrics/metrics.ts'
export type { BreakdownQuery, MetricsQuery } from './metrics/counters.ts'
export type { Page, PageArgs } from './lists.ts'
export type { HoldRule } from './queue/hold-rules.ts'
export type { DeliveryGroup } from './queue/queue.ts'
export type { QueueFilter } from './queue/matching.ts'
export type { Step } from './queue/matching.ts'
export type { QuotaLimit, Usage, UsageHistory } from './quotas.ts'
export type { ForwardResult, ReceivedForward } from './received-forwards.ts'
export type { NewReceipt, Receipt, ReceiptName } from './receipts.ts'
export type { Forwarding, PostmasterLimits, PostmasterMessage } from './postmaster.ts'
export type { ReceivedMessage, ReturnedMailLimits, ReturnedMessage, MessageBytes } from './received.ts'
export type { ReceivedEmail, ReceivedFilter, ReceivedLimits, Receiver } from './received-emails.ts'
export type {
  LateBounce,
  ReturnedDelivery,
  SettleReturnedArgs,
  UnreadReturnedMessage,
} from './returned-unread.ts'
export type { DueReport, ReportRef, ReportedDelivery } from './reports.ts'
export type { PurgeArgs, PurgeResult } from './retention.ts'
export type { SealingStorage } from './secrets.ts'
export type { Session } from './sessions.ts'
export type { SignInMethod } from './values.ts'
export type { SourceChange } from './sources.ts'
export type { FreeLeasesArgs, StoredNode } from './nodes.ts'
export type { LeasedDelivery } from './spool/lease.ts'
export type { LeaseArgs } from './spool/choose.ts'
export type { NewDelivery, NewEmail, PutArgs, PutResult } from './spool/put.ts'
export type { DeliveryChange, SettleArgs } from './spool/settle.ts'
export type { Snapshot } from './sqlite/migrate.ts'
export type { NewSuppression, Suppression, SuppressionRef } from './suppressions.ts'
export type { Member, MemberChangeResult, Membership, Team, TeamDetails } from './teams.ts'
export type {
  Template,
  TemplateContent,
  TemplateRef,
  TemplateSummary,
  TemplateVersion,
  TemplateVersionSummary,
} from './templates/template-rows.ts'
export type { TemplateUses } from './templates/template-uses.ts'
export type { TemplateChange } from './templates/templates.ts'
export type { Ticket } from './tickets.ts'
export type { ReportedPolicy, StoredStsPolicy, StsPolicy, TlsCount } from './tls-policies.ts'
export type { NewHit, TrackedEmail } from './events.ts'
export type {
  NewWebhookDelivery,
  WebhookAttempt,
  WebhookDelivery,
  WebhookRequests,
} from './webhooks/deliveries.ts'
export type { SuppressedDelivery, OutboxEvent } from './webhooks/outbox.ts'
export type { LeasedWebhookDelivery, WebhookLeaseArgs } from './webhooks/queue.ts'
export type { Webhook, PublicWebhook } from './webhooks/webhooks.ts'
export type { AuditEntry } from '../mail/audit.ts'
export type { ErasureCounts } from '../mail/erasure.ts'
export {
  START_CURSOR,
  minCursor,
  type EventCursor,
  formatCursor,
  isAfter,
  parseCursor,
} from './event-cursor.ts'
export { secretLocations } from './secrets.ts'
export { FairQueue } from './spool/fairness.ts'
export {
  QUARTER_HOUR_MS,
  startOfQuarterHour,
  startOfSum,
  SUM_LENGTHS,
  type SumDimension,
} from './metrics/counters.ts'

type Nouns = typeof methodsByNoun
type Listed<Kind extends string> = {
  [N in keyof Nouns]: Nouns[N] extends Record<Kind, infer Methods> ? Methods : never
}[keyof Nouns]
type Together<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void
  ? All
  : never

/**
 * Converts the type of a function with a connection to that of a method. The engine supplies the connection and the
 * transaction.
 */
type Method<F> = F extends (db: never, ...rest: infer Rest) => infer Result
  ? (args: Rest extends [infer Args, ...unknown[]] ? Args : object, now: number) => Promise<Awaited<Result>>
  : never
type Methods<M> = { [Name in keyof M]: Method<M[Name]> }
/** Converts the types of prepared methods, which are functions that create the method. */
type PreparedMethods<M> = {
  [Name in keyof M]: M[Name] extends (db: never) => (args: infer Args, now: number) => infer Result
    ? (args: Args, now: number) => Promise<Awaited<Result>>
    : never
}

/** The methods of some nouns, by their names in nouns.ts. */
export type StorageSubset<N extends keyof Nouns> = Pick<Storage, keyof Storage & MethodName<Nouns[N]>>
type MethodName<Noun> = Noun extends unknown
  ? {
      [Kind in keyof Noun]: Kind extends 'reads' | 'writes' | 'prepared' ? keyof Noun[Kind] : never
    }[keyof Noun]
  : never

/** Methods that make one call to one thread, by the kind of transaction. */
export type ReadMethods = Methods<Together<Listed<'reads'>>>
export type WriteMethods = Methods<Together<Listed<'writes'>>> &
  Omit<PreparedMethods<Together<Listed<'prepared'>>>, 'put' | 'putReport'>

/** Methods that each engine implements itself, because large messages are files. */
export interface MessageMethods {
  /** Accepts mail: stores emails, messages, deliveries, receipt and counts in one durable transaction, or nothing. */
  put(args: PutArgs, now: number): Promise<PutResult>
  /**
   * Stores a report as a separate email, and marks the reports of its deliveries as no longer due. Returns false and
   * stores nothing if part of it wasn't due anymore.
   */
  putReport(args: ReportRef & { report: NewEmail }, now: number): Promise<boolean>
  /** Returns the message as accepted. */
  getMessage(args: { emailId: string }, now: number): Promise<Uint8Array | undefined>
  /**
   * Deletes HTML, text and message of final emails. `most` limits the number of emails; a step ends early at two
   * megabytes of messages.
   */
  purgeBodies(args: PurgeArgs, now: number): Promise<PurgeResult>
  /**
   * Deletes the same data as `purgeBodies`, and also subject, headers, attachment names and logged requests, for emails
   * of domains that don't keep bodies. `before` is compared with the time of acceptance; `after` is unused.
   */
  purgeUnkeptBodies(args: PurgeArgs, now: number): Promise<PurgeResult>
  /**
   * Deletes final emails with all related data. `most` limits the number of rows of recipients and events, but at least
   * one email is deleted.
   */
  purgeEmails(args: PurgeArgs, now: number): Promise<PurgeResult>
  /**
   * Runs one step of an erasure. `finishedAt` is set after the last step. Returns undefined if there is no such
   * erasure.
   */
  eraseStep(args: { id: string }, now: number): Promise<Erasure | undefined>
  /** Counts in one step what an erasure would change. Changes nothing. */
  surveyErasure(args: ErasurePreviewArgs, now: number): Promise<ErasurePreview>
  /**
   * Stores a message for each of its teams, with the event about it. Stores nothing unless the result is `kept`.
   * `unknown`: a domain doesn't exist or no longer receives. `full`: a team has reached its limit.
   */
  keepReceivedEmails(
    args: { emails: NewReceivedEmail[]; limits: ReceivedLimits },
    now: number,
  ): Promise<'kept' | 'full' | 'unknown'>
  /** Returns the message with the added header fields; undefined if it doesn't exist or its content isn't kept. */
  getReceivedSource(args: { teamId: string; id: string }, now: number): Promise<Uint8Array | undefined>
  /** Deletes what was received before a time and returns the number of rows. `most` limits the rows of each kind. */
  purgeReceived(args: { before: number; most: number }, now: number): Promise<number>
}

/** The state of the database server, for operators. */
export interface DatabaseServer {
  /** Version of the server, such as `15.14 (Debian 15.14-0+deb12u1)`. */
  version: string
  database: string
  /** Size of the database in bytes. */
  size: number
  /**
   * Number of Posthaste's connections to the database, number of all connections to the server, and the maximum for
   * users.
   */
  connections: { own: number; used: number; most: number }
  /**
   * Number of standby servers that may lack the newest commits. It is 0 without the role pg_monitor, because it is then
   * unknown.
   */
  asyncStandbys: number
  /** Milliseconds until the server responded to these queries. */
  respondedIn: number
}

export interface Storage extends ReadMethods, WriteMethods, MessageMethods {
  /** Returns version, size and connections of the database server; null for SQLite. */
  databaseServer(): Promise<DatabaseServer | null>
  /**
   * Writes, reads and deletes a message in the bucket for large messages; null if there is no bucket.
   * @throws StorageFailure if the bucket can't be used; the message says why
   */
  probeBodies(): Promise<BodyStoreStatus | null>
  /** Finishes pending calls and closes the engine. */
  close(): Promise<void>
}

/** A storage that only reads. */
export interface ReadOnlyStorage extends ReadMethods {
  /** Finishes pending calls and closes the database. */
  close(): Promise<void>
}

/**
 * Runs all steps of a long change (`holdQueue`, `place`, …), and returns the number of changed deliveries. Others can
 * write between two steps. Changes stay if a later step fails.
 */
export async function runAllSteps(step: (after: string | undefined) => Promise<Step>): Promise<number> {
  let changed = 0
  let after: string | undefined
  for (;;) {
    const { count, next } = await step(after)
    changed += count
    if (next === null) return changed
    after = next
  }
}
