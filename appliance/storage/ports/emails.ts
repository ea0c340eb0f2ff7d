/** Emails from the moment at which they are ours. */
import type { EmailEventType, EventData, LastEvent } from '../../mail/event.ts'
import type { Transcript } from '../../mail/transcript.ts'
import type { Cause, DeliveryState } from '../../mail/verdict.ts'
import type { Page, PageArgs } from './page.ts'

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
  /** The queue it waits in: today the recipient's domain. */
  lane: string
  dueAt: number
  expiresAt: number
}

/** An accepted request, about to become durable. */
export interface NewEmail {
  id: string
  teamId: string
  domainId: string
  apiKeyId: string | null
  via: 'rest' | 'smtp' | 'dashboard'
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
  /** Envelope sender, unique to the email (VERP). */
  returnPath: string
  scheduledAt: number | null
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
  lane: string
  state: DeliveryState
  attempts: number
  createdAt: number
  updatedAt: number
  /** When it will be tried next; null when it is final. While an attempt runs, the time at which it would be tried again after a crash. */
  dueAt: number | null
  /** When it will be given up; null when it is final. */
  expiresAt: number | null
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

export interface EmailStorage {
  /** The acceptance boundary: email, message and deliveries become durable together. */
  put(args: NewEmail, now: number): Promise<void>
  listEmails(args: PageArgs, now: number): Promise<Page<EmailSummary>>
  getEmail(args: { teamId: string; id: string }, now: number): Promise<Email | undefined>
  getHistory(args: { teamId: string; id: string }, now: number): Promise<EmailHistory>
  /** The message as accepted. */
  getMessage(args: { emailId: string }, now: number): Promise<Uint8Array | undefined>
}
