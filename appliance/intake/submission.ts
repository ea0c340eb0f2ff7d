import type { Mailbox } from '../mail/address.ts'
import type { EnvelopeDsn, RecipientDsn } from '../mail/dsn.ts'
import type { Stream } from '../mail/queue.ts'
import type { RequireTls } from '../mail/tls-policy.ts'
import type { Header } from '../mime/entity.ts'
import type { AttachmentInfo, Tag } from '../storage/storage.ts'
import type { Content } from './composed-content.ts'
import type { Trace } from './message-fields.ts'

/** A request to send, read and checked, but not yet authorized. Plain data. */
export interface Submission {
  from: Mailbox
  to: Mailbox[]
  cc: Mailbox[]
  bcc: Mailbox[]
  replyTo: Mailbox[]
  subject: string
  /** HTML and text; only in the message itself if it arrived as bytes. */
  html: string | null
  /** The text part; null to generate it from the HTML, empty for none. */
  text: string | null
  /** Custom fields; never one that the server writes. */
  headers: { name: string; value: string }[]
  /** The caller's Message-ID with angle brackets; null to generate one. */
  messageId: string | null
  attachments: SubmittedAttachment[]
  /** Attachments given by URL. Fetched on acceptance, before the message is composed. */
  links: LinkedAttachment[]
  tags: Tag[]
  /** The requested time (Unix milliseconds); null means immediately. Acceptance checks whether it is possible. */
  scheduledAt: number | null
  /** The stream that the email is queued in. */
  stream: Stream
  /** ID of the email's topic, lower case; null for none. Acceptance checks whether the team has it. */
  topicId: string | null
  /** The template that the content comes from. Default: none. */
  template?: { id: string; versionId: string } | null
  /** Set for a message that arrived as bytes. It isn't composed, and its envelope names the recipients. */
  arrived?: ArrivedMessage
  /**
   * Set for a notice from the server itself to one person. It isn't tracked, its content is private, and it doesn't
   * count toward a quota.
   */
  notice?: true
}

/** The parts of an arrived message that don't come from its header. */
export interface ArrivedMessage {
  /** The bytes as received, with the parsed header. */
  bytes: Uint8Array
  header: Header
  /** HTML and text, if they had to be read. */
  content: Content | null
  trace: Trace
  recipients: { mailbox: Mailbox; dsn: RecipientDsn }[]
  /** Address for reports: MAIL FROM; null for the null sender. */
  reportTo: string | null
  dsn: EnvelopeDsn
  requireTls: RequireTls
  /** Domains other than that of From that the message is sent for. They must be authorized, too. */
  speaksFor: string[]
  attachments: Omit<AttachmentInfo, 'id'>[]
}

export interface SubmittedAttachment {
  /** Without folders and control characters; null if the caller gave none. */
  filename: string | null
  /** `type/subtype` with its parameters. */
  contentType: string
  /** Without angle brackets; makes the attachment inline. */
  contentId: string | null
  content: Uint8Array
}

/** An attachment given by URL. Null fields are filled from the response. */
export interface LinkedAttachment {
  /** Its index among all attachments of the request, from 0. */
  position: number
  url: URL
  filename: string | null
  contentType: string | null
  contentId: string | null
}
