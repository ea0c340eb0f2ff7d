/**
 * The port of storage. A method is a transaction: it happens whole, durably, or not at all; when its promise
 * resolves, it has happened. `now` is the caller's clock in Unix milliseconds. Objects that come out are plain data.
 *
 * Nothing outside this folder knows the engine, sees a row, or holds a transaction. One file of `ports/` for each noun.
 */
import type { AccountStorage } from './ports/accounts.ts'
import type { EmailStorage } from './ports/emails.ts'
import type { LogStorage } from './ports/logs.ts'
import type { QuotaStorage } from './ports/quotas.ts'
import type { ReceiptStorage } from './ports/receipts.ts'
import type { ReportStorage } from './ports/reports.ts'
import type { SecretStorage } from './ports/secrets.ts'
import type { SenderStorage } from './ports/senders.ts'
import type { SpoolStorage } from './ports/spool.ts'
import type { SuppressionStorage } from './ports/suppressions.ts'

export type * from './ports/accounts.ts'
export type * from './ports/emails.ts'
export type * from './ports/logs.ts'
export type * from './ports/page.ts'
export type * from './ports/quotas.ts'
export type * from './ports/receipts.ts'
export type * from './ports/reports.ts'
export type * from './ports/secrets.ts'
export type * from './ports/senders.ts'
export type * from './ports/spool.ts'
export type * from './ports/suppressions.ts'

export interface Storage
  extends
    AccountStorage,
    SenderStorage,
    SuppressionStorage,
    EmailStorage,
    SecretStorage,
    SpoolStorage,
    ReceiptStorage,
    QuotaStorage,
    LogStorage,
    ReportStorage {
  /** Finishes what is pending and closes the engine. */
  close(): Promise<void>
}
