/** Reports that senders are owed: due from the transaction that decided a delivery, made once. */
import type { EnvelopeDsn, RecipientDsn, ReportKind } from '../../mail/dsn.ts'
import type { RequireTls } from '../../mail/require-tls.ts'
import type { Cause, DeliveryState } from '../../mail/verdict.ts'
import type { NewEmail } from './emails.ts'

/** Deliveries of one email about which the same thing is to be told: one report. */
export interface DueReport {
  kind: ReportKind
  emailId: string
  teamId: string
  domainId: string
  /** The email's sending domain; null when it was removed meanwhile. */
  domain: string | null
  subject: string
  messageId: string
  reportTo: string
  /** When the email was accepted. */
  createdAt: number
  dsn: EnvelopeDsn
  /** What the sender said of encryption on the way (RFC 8689): it holds for the report, too. */
  requireTls: RequireTls
  deliveries: ReportedDelivery[]
}

/** A delivery as it stands when the report is made. */
export interface ReportedDelivery {
  id: string
  recipient: string
  dsn: RecipientDsn
  state: DeliveryState
  attempts: number
  /** When the last attempt ended, or the delivery was given up. */
  updatedAt: number
  /** When it will be given up; null when it is final. */
  expiresAt: number | null
  cause: Cause | null
}

/** Which due reports are meant. */
export interface ReportRef {
  kind: ReportKind
  deliveryIds: string[]
}

export interface ReportStorage {
  /** Due reports, those of the oldest emails first. */
  dueReports(args: { limit: number }, now: number): Promise<DueReport[]>
  /** Stores a report, an email of its own, and what it tells is no longer due. False, and nothing stored, when some of it was not due any more. */
  putReport(args: ReportRef & { report: NewEmail }, now: number): Promise<boolean>
  /** There is nothing to tell any more: no longer due, and no report made. */
  dropReports(args: ReportRef, now: number): Promise<void>
}
