/**
 * The port of storage. A method is a transaction: it happens whole, durably, or not at all; when its promise
 * resolves, it has happened. `now` is the caller's clock in Unix milliseconds. Objects that come out are plain data.
 *
 * Nothing outside this folder knows the engine, sees a row, or holds a transaction. One file of `ports/` for each noun.
 */
import type { AccountStorage } from './ports/accounts.ts'
import type { AuditStorage } from './ports/audit.ts'
import type { EmailStorage } from './ports/emails.ts'
import type { EmailSearchStorage } from './ports/email-search.ts'
import type { ErasureStorage } from './ports/erasures.ts'
import type { FactorStorage } from './ports/factors.ts'
import type { IdentityStorage } from './ports/identities.ts'
import type { LaneStorage } from './ports/lanes.ts'
import type { LogStorage } from './ports/logs.ts'
import type { MemberStorage } from './ports/members.ts'
import type { MetricsStorage } from './ports/metrics.ts'
import type { QuotaStorage } from './ports/quotas.ts'
import type { ReceiptStorage } from './ports/receipts.ts'
import type { ReceivedStorage } from './ports/received.ts'
import type { ReportStorage } from './ports/reports.ts'
import type { RetentionStorage } from './ports/retention.ts'
import type { SecretStorage } from './ports/secrets.ts'
import type { SenderStorage } from './ports/senders.ts'
import type { SessionStorage } from './ports/sessions.ts'
import type { SourceStorage } from './ports/sources.ts'
import type { SpoolStorage } from './ports/spool.ts'
import type { SuppressionStorage } from './ports/suppressions.ts'
import type { TicketStorage } from './ports/tickets.ts'
import type { TlsPolicyStorage } from './ports/tls-policies.ts'
import type { TrackingStorage } from './ports/tracking.ts'
import type { WebhookStorage } from './ports/webhooks.ts'

export type * from './ports/accounts.ts'
export type * from './ports/audit.ts'
export type * from './ports/backup.ts'
export type * from './ports/email-search.ts'
export type * from './ports/emails.ts'
export type * from './ports/erasures.ts'
export type * from './ports/factors.ts'
export type * from './ports/identities.ts'
export type * from './ports/lanes.ts'
export type * from './ports/logs.ts'
export type * from './ports/members.ts'
export type * from './ports/metrics.ts'
export type * from './ports/page.ts'
export type * from './ports/quotas.ts'
export type * from './ports/receipts.ts'
export type * from './ports/received.ts'
export type * from './ports/reports.ts'
export type * from './ports/retention.ts'
export { secretPlace } from './ports/sealing.ts'
export type * from './ports/sealing.ts'
export type * from './ports/secrets.ts'
export type * from './ports/senders.ts'
export type * from './ports/sessions.ts'
export type * from './ports/snapshots.ts'
export type * from './ports/sources.ts'
export type * from './ports/spool.ts'
export type * from './ports/suppressions.ts'
export type * from './ports/tickets.ts'
export type * from './ports/tls-policies.ts'
export type * from './ports/tracking.ts'
export type * from './ports/webhooks.ts'

export { QUARTER, quarterOf, startOfSum, SUMMED, type SummedBy } from './counters.ts'
export { every } from './steps.ts'

export interface Storage
  extends
    AccountStorage,
    MemberStorage,
    SessionStorage,
    FactorStorage,
    TicketStorage,
    AuditStorage,
    SenderStorage,
    SuppressionStorage,
    EmailStorage,
    EmailSearchStorage,
    SecretStorage,
    RetentionStorage,
    ErasureStorage,
    IdentityStorage,
    SpoolStorage,
    LaneStorage,
    ReceiptStorage,
    QuotaStorage,
    LogStorage,
    MetricsStorage,
    ReceivedStorage,
    ReportStorage,
    TlsPolicyStorage,
    TrackingStorage,
    WebhookStorage,
    SourceStorage {
  /** Finishes what is pending and closes the engine. */
  close(): Promise<void>
}
