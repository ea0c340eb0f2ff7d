import type { Mailbox } from '../mail/address.ts'
import type { EnvelopeDsn, RecipientDsn } from '../mail/dsn.ts'
import type { Stream } from '../mail/queue.ts'
import type { RequireTls } from '../mail/tls-policy.ts'
import type { Header } from '../mime/entity.ts'
import type { AttachmentInfo, Tag } from '../storage/storage.ts'
import type { Content } from './composed-content.ts'
import type { Trace } from './message-fields.ts'

/** A request to send, read and checked, before anyone asked whether the caller may send it. Plain data. */
export interface Submission {
  from: Mailbox
  to: Mailbox[]
  cc: Mailbox[]
  bcc: Mailbox[]
  replyTo: Mailbox[]
  subject: string
  /** Html and text of a message that arrived as bytes stand in it alone. */
  html: string | null
  /** Null: to be made from the html. Empty: none is wanted. */
  text: string | null
  /** Fields that the caller adds; never one that the server writes. */
  headers: { name: string; value: string }[]
  /** The caller's own Message-ID with its angle brackets; null for ours. */
  messageId: string | null
  attachments: SubmittedAttachment[]
  /** Attachments that are still elsewhere: fetched on acceptance, before the message is composed. */
  links: LinkedAttachment[]
  tags: Tag[]
  /** When to send it (Unix milliseconds), as asked: whether that is possible is checked on acceptance. Null: at once. */
  scheduledAt: number | null
  /** What it competes with while it waits. */
  stream: Stream
  /** The topic that it is about, lower case; null: none. Whether the team has it is checked on acceptance. */
  topicId: string | null
  /** What its content was made from. Default: no template. */
  template?: { id: string; versionId: string } | null
  /** Of a message that arrived as bytes: it is not composed, and its envelope says who gets it. */
  arrived?: ArrivedMessage
  /** From the appliance itself to one person: not tracked, its content is nobody else's, and it counts to no quota. */
  notice?: true
}

/** What an arrived message brings beside what was read from its header. */
export interface ArrivedMessage {
  /** As it came, with its header as it was read. */
  bytes: Uint8Array
  header: Header
  /** Html and text, where they had to be read. */
  content: Content | null
  trace: Trace
  recipients: { mailbox: Mailbox; dsn: RecipientDsn }[]
  /** Who is sent reports: MAIL FROM; null for the empty one. */
  reportTo: string | null
  dsn: EnvelopeDsn
  requireTls: RequireTls
  /** Domains beside that of From in whose name it speaks, which have to be authorised as well. */
  speaksFor: string[]
  attachments: Omit<AttachmentInfo, 'id'>[]
}

export interface SubmittedAttachment {
  /** Without folders and controls; null when the caller gave none. */
  filename: string | null
  /** `type/subtype` with its parameters. */
  contentType: string
  /** Without angle brackets; makes the attachment inline. */
  contentId: string | null
  content: Uint8Array
}

/** An attachment that the caller gave as a URL. What is null comes with the answer. */
export interface LinkedAttachment {
  /** Its place among all attachments of the request, from 0. */
  position: number
  url: URL
  filename: string | null
  contentType: string | null
  contentId: string | null
}
