import type { Mailbox } from '../mail/address.ts'
import type { Tag } from '../storage/storage.ts'

/** A request to send, understood and checked, before anyone asked whether the caller may send it. */
export interface Submission {
  from: Mailbox
  to: Mailbox[]
  cc: Mailbox[]
  bcc: Mailbox[]
  replyTo: Mailbox[]
  subject: string
  html: string | null
  /** Null: to be made from the html. Empty: none is wanted. */
  text: string | null
  /** Fields that the caller adds; never one that the server writes. */
  headers: { name: string; value: string }[]
  /** The caller's own Message-ID with its angle brackets; null for ours. */
  messageId: string | null
  attachments: SubmittedAttachment[]
  tags: Tag[]
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
