/** Messages received at a return path, from a feedback loop or at a report address, and their content. Types only. */
import type { BounceCategory } from './bounce.ts'

/**
 * The kind of a received message. `bounce`, `delayed` and `success`: delivery reports, by their worst recipient (RFC
 * 3464 §2.3.3) · `complaint` and `not-spam`: feedback reports (RFC 5965 §7.3) · `auto-reply`: vacation notes and other
 * automatic answers (RFC 3834) · `challenge`: asks the sender to confirm · `read-receipt` (RFC 8098) ·
 * `dmarc-aggregate` (RFC 9990, RFC 7489 §7.2) · `dmarc-failure` (RFC 9991, RFC 6591) · `tls-report` (RFC 8460) ·
 * `reply`: a person's answer.
 */
export const RETURNED_MAIL_KINDS = [
  'bounce',
  'delayed',
  'success',
  'complaint',
  'not-spam',
  'auto-reply',
  'challenge',
  'read-receipt',
  'dmarc-aggregate',
  'dmarc-failure',
  'tls-report',
  'reply',
  'other',
] as const
export type ReturnedMailKind = (typeof RETURNED_MAIL_KINDS)[number]

/** Action of a recipient (RFC 3464 §2.3.3). */
export type ReportAction = 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded'

/** The untrusted content of a delivery report about one recipient. */
export interface ReportedRecipient {
  /** The original recipient as the sender wrote it (RFC 3464 §2.3.1); null when missing. */
  original: string | null
  /** The final recipient as the reporting server knew it (RFC 3464 §2.3.2); null when missing. */
  final: string | null
  action: ReportAction
  /** Enhanced status code (RFC 3463), such as `5.1.1`; null when missing. */
  status: string | null
  /** Reply code (RFC 5321 §4.2), such as 550; null when missing. */
  code: number | null
  /** The last server's reply, on one line. */
  diagnostic: string
  /** The server that the reporting server contacted (RFC 3464 §2.3.5). */
  remoteMta: string | null
  /** The category of the failure; null unless `action` is `failed` or `delayed`. */
  category: BounceCategory | null
  /** Name of the rule that decided the category. */
  topic: string | null
  /** Whether the report says that the address doesn't exist. Has no effect until the report is authenticated. */
  invalid: boolean
}

/** References to the message that a report or reply is about. They are only hints, because anyone can forge them. */
export interface MessageReferences {
  /** Message-ID of the returned message, with angle brackets. */
  messageId: string | null
  /** Return path of the returned message, or Original-Mail-From (RFC 5965 §3.2), without angle brackets. */
  returnPath: string | null
  /** Original-Envelope-Id (RFC 3464 §2.2.1, RFC 5965 §3.2). */
  envelopeId: string | null
  /** In-Reply-To and References of the received message itself (RFC 5322 §3.6.4). */
  inReplyTo: readonly string[]
  /**
   * Our own fields in the returned message, by name in lower case: X-Posthaste-*, Feedback-ID, CFBL-Feedback-ID (RFC
   * 9477 §4.2).
   */
  fields: Readonly<Record<string, string>>
  /** The To field of the returned message. */
  to: string | null
  subject: string | null
}

/** The content of a feedback report (RFC 5965 §3). */
export interface Feedback {
  /** In lower case: `abuse`, `fraud`, `opt-out`, … */
  type: string
  userAgent: string | null
  /** Original-Rcpt-To, including redacted ones (RFC 6590). */
  recipients: readonly string[]
  sourceIp: string | null
  reportedDomain: string | null
  /** The arrival date as the reporter wrote it. */
  arrivalDate: string | null
  /** Number of messages that it reports. */
  incidents: number
  /** Auth-Failure (RFC 6591 §3.1), for failure reports. */
  authFailure: string | null
}

/** A parsed received message. */
export interface ParsedReturnedMessage {
  kind: ReturnedMailKind
  /** How the kind was recognized: `rfc3464`, `rfc5965`, or the name of a rule. */
  format: string
  recipients: readonly ReportedRecipient[]
  references: MessageReferences
  /** Reporting-MTA (RFC 3464 §2.2.2), in lower case. */
  reportingMta: string | null
  feedback: Feedback | null
  /** A DMARC aggregate or TLS report: decoded, still compressed. */
  report: Uint8Array | null
}

/**
 * Effects of a report about a delivery. `bounced`: the delivery bounced · `suppressed`: its address was suppressed, too
 * · `complained` · `noted`: the report doesn't say that delivery failed · `unchanged`: the delivery is queued, or
 * already bounced or complained · `stranger`: not a recipient of the email · `ambiguous`: the email has several
 * recipients, and the report could be about any of them.
 */
export const RETURNED_MAIL_EFFECTS = [
  'bounced',
  'suppressed',
  'complained',
  'noted',
  'unchanged',
  'stranger',
  'ambiguous',
] as const
export type ReturnedMailEffect = (typeof RETURNED_MAIL_EFFECTS)[number]

/** What a message reports about a recipient, and its effect. */
export interface ReportEntry {
  /** The recipient's address; null when the message names none. */
  recipient: string | null
  /** The delivery concerned; null for none. */
  deliveryId: string | null
  /** The reported action; null for complaints. */
  action: ReportAction | null
  status: string | null
  diagnostic: string | null
  category: BounceCategory | null
  effect: ReturnedMailEffect
}

/** The content of a message to a return path, and its effects. */
export interface ReturnedMailReport {
  /** `unreadable`: parsing took too much time or memory, or crashed the process. */
  kind: ReturnedMailKind | 'unreadable'
  format: string
  reportingMta: string | null
  /** At most 100. */
  entries: ReportEntry[]
}

/** A condition on a header field: the pattern must match in its value. */
export interface FieldTest {
  /** In lower case. */
  field: string
  pattern: RegExp
}

/** A format without a standard structure (config/returned-mail.toml). All conditions that are given must match. */
export interface ReturnedMailFormat {
  name: string
  kind: 'bounce' | 'delayed' | 'complaint' | 'auto-reply' | 'challenge' | 'other'
  /** All must match. */
  header: readonly FieldTest[]
  /** One must match. */
  anyHeader: readonly FieldTest[]
  /** One must match at the beginning of the text. */
  opening: readonly RegExp[]
  /** One must match in the text. */
  text: readonly RegExp[]
  /** Finds a recipient in a line: the first group is the address, and what follows is the reason. */
  recipient: readonly RegExp[]
  /** A header field that lists recipients. */
  recipientField: string | null
  /** Finds the line that precedes the returned message. */
  copy: readonly RegExp[]
  /** Whether the format only matches when a recipient is found. */
  needsRecipient: boolean
}
