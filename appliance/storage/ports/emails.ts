/** Emails from the moment at which they are ours. */
import type { EnvelopeDsn, RecipientDsn } from '../../mail/dsn.ts'
import type { EmailEventType, EventData, LastEvent } from '../../mail/event.ts'
import type { Stream } from '../../mail/queue.ts'
import type { RequireTls } from '../../mail/require-tls.ts'
import type { Transcript } from '../../mail/transcript.ts'
import type { Cause, DeliveryState } from '../../mail/verdict.ts'
import type { Page, PageArgs } from './page.ts'
import type { QuotaLimit, Usage } from './quotas.ts'
import type { NewReceipt, Receipt } from './receipts.ts'

export interface Tag {
  name: string
  value: string
}

/** One recipient of a new email: how the spool will first hold it. */
export interface NewDelivery {
  id: string
  /** Envelope recipient: local part as given, domain in A-labels. */
  recipient: string
  field: 'to' | 'cc' | 'bcc'
  dueAt: number
  expiresAt: number
  /**
   * Why it will not be sent at all: then it is stored as suppressed, which is final. Null: it is queued, unless `put`
   * finds the address on the team's suppression list.
   */
  suppressed: Cause | null
  /** What RCPT said of reports; null for an email that did not come by SMTP. */
  dsn: RecipientDsn | null
}

/** An accepted request, about to become durable. */
export interface NewEmail {
  id: string
  teamId: string
  domainId: string
  apiKeyId: string | null
  /** `report`: made by the appliance itself, about an email that somebody sent. `notice`: from the appliance itself to a person. */
  via: 'rest' | 'smtp' | 'dashboard' | 'report' | 'notice'
  /** The header fields as the caller gave them, decoded. */
  from: string
  to: string[]
  cc: string[]
  bcc: string[]
  replyTo: string[]
  subject: string
  html: string | null
  text: string | null
  headers: { name: string; value: string }[]
  tags: Tag[]
  attachments: AttachmentInfo[]
  messageId: string
  /** Envelope sender, unique to the email (VERP); empty for a report, about which there are no reports (RFC 5321 §4.5.5). */
  returnPath: string
  /** Who is sent reports about it: MAIL FROM of an email that came by SMTP, when it is the app's own. Null: nobody is. */
  reportTo: string | null
  /** What MAIL said of reports; null for an email that did not come by SMTP. */
  dsn: EnvelopeDsn | null
  /** What the sender said of encryption on the way (RFC 8689). */
  requireTls: RequireTls
  scheduledAt: number | null
  /** What it competes with while it waits. */
  stream: Stream
  /** The pool of source addresses that it leaves from. */
  pool: string
  /** The complete RFC 5322 message, CRLF line ends, unsigned. */
  message: Uint8Array
  deliveries: NewDelivery[]
}

export interface AttachmentInfo {
  id: string
  filename: string | null
  contentType: string
  contentId: string | null
  disposition: 'attachment' | 'inline'
  size: number
}

/** What lists show of an email. */
export interface EmailSummary {
  id: string
  teamId: string
  from: string
  to: string[]
  cc: string[]
  bcc: string[]
  replyTo: string[]
  subject: string
  messageId: string
  lastEvent: LastEvent
  scheduledAt: number | null
  createdAt: number
}

export interface Email extends EmailSummary {
  domainId: string
  apiKeyId: string | null
  via: NewEmail['via']
  html: string | null
  text: string | null
  headers: { name: string; value: string }[]
  tags: Tag[]
  attachments: AttachmentInfo[]
  returnPath: string
  /** Bytes of the message. */
  size: number
}

/** The fate of one recipient so far. */
export interface Delivery {
  id: string
  emailId: string
  teamId: string
  recipient: string
  field: 'to' | 'cc' | 'bcc'
  /** Where it waits, or waited last: the pool of source addresses, and the mailbox provider or `?domain` before one was looked up. */
  pool: string
  provider: string
  state: DeliveryState
  attempts: number
  createdAt: number
  updatedAt: number
  /** When it will be tried next; null when it is final. While an attempt runs, the time at which it would be tried again after a crash. */
  dueAt: number | null
  /** When it will be given up; null when it is final. */
  expiresAt: number | null
  /** The time that its sender chose; null: at once. */
  scheduledAt: number | null
  /** Why it is in this state; null before the first attempt. */
  cause: Cause | null
}

export interface Attempt {
  id: string
  teamId: string
  emailId: string
  deliveryIds: string[]
  startedAt: number
  endedAt: number
  transcript: Transcript
}

export interface EmailEvent {
  id: string
  emailId: string
  deliveryId: string | null
  type: EmailEventType
  createdAt: number
  data: EventData
}

/** All that is known of one email: the page "what happened to it" in one read. */
export interface EmailHistory {
  deliveries: Delivery[]
  attempts: Attempt[]
  events: EmailEvent[]
}

/** What becomes durable together: all emails of one request, its receipt, and what they count. */
export interface PutArgs {
  emails: NewEmail[]
  /** Of a request that may be asked again; null for one without a key. */
  receipt: NewReceipt | null
  /** Null when nothing is to be counted. */
  quota: QuotaLimit | null
}

/** In every case but `stored` nothing was changed. */
export type PutResult =
  /** `usage` counts these emails too; null when nothing was to be counted. */
  | { kind: 'stored'; usage: Usage | null }
  /** The emails are more than is left of the period. */
  | { kind: 'over_quota'; period: 'daily' | 'monthly' }
  /** The request was answered before, perhaps by another process. */
  | { kind: 'replay'; receipt: Receipt }

/** What became of a wish to change a scheduled email; nothing was changed unless it says so. */
export type ScheduleChange =
  { kind: 'changed' } | { kind: 'unknown' } | { kind: 'not_scheduled'; lastEvent: LastEvent }

export interface EmailStorage {
  /** The acceptance boundary: emails, messages, deliveries, receipt and counts become durable together, or nothing does. */
  put(args: PutArgs, now: number): Promise<PutResult>
  /** Newest first; without reports, which nobody sent. */
  listEmails(args: PageArgs, now: number): Promise<Page<EmailSummary>>
  getEmail(args: { teamId: string; id: string }, now: number): Promise<Email | undefined>
  /** Whose email it is; undefined when there is none. */
  teamOfEmail(args: { emailId: string }, now: number): Promise<string | undefined>
  getHistory(args: { teamId: string; id: string }, now: number): Promise<EmailHistory>
  /** The message as accepted. */
  getMessage(args: { emailId: string }, now: number): Promise<Uint8Array | undefined>
  /** Moves a scheduled email to another time. Either this or the first lease of one of its deliveries happens. */
  reschedule(
    args: { teamId: string; id: string; scheduledAt: number; expiresAt: number },
    now: number,
  ): Promise<ScheduleChange>
  /** Gives a scheduled email up: `last_event` and its waiting deliveries become canceled. Either this or a lease happens. */
  cancel(args: { teamId: string; id: string }, now: number): Promise<ScheduleChange>
}
