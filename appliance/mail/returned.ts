/** What messages that come back to a return path, a feedback loop or a report address are, and what they say. Pure vocabulary. */
import type { Category } from './bounce.ts'

/**
 * What a received message is. `bounce`, `delayed` and `success` are delivery reports by their worst recipient (RFC 3464 §2.3.3) ·
 * `complaint` and `not-spam`: feedback reports (RFC 5965 §7.3) · `auto-reply`: vacation notes and other automatic answers (RFC 3834) ·
 * `challenge`: asks the sender to confirm · `read-receipt` (RFC 8098) · `dmarc-aggregate` (RFC 9990, RFC 7489 §7.2) · `dmarc-failure`
 * (RFC 9991, RFC 6591) · `tls-report` (RFC 8460) · `reply`: a person's answer.
 */
export const RETURNED_KINDS = [
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
export type ReturnedKind = (typeof RETURNED_KINDS)[number]

/** Action of a recipient (RFC 3464 §2.3.3). */
export type ReportAction = 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded'

/** What a delivery report says of one recipient. Everything in it is a stranger's text. */
export interface ReportedRecipient {
  /** As the sender wrote it (RFC 3464 §2.3.1); null where the report does not say. */
  original: string | null
  /** As the reporting server had it (RFC 3464 §2.3.2); null where a notice names nobody. */
  final: string | null
  action: ReportAction
  /** Enhanced status code (RFC 3463), such as `5.1.1`; null where none was found. */
  status: string | null
  /** Basic reply code (RFC 5321 §4.2), such as 550; null where none was found. */
  code: number | null
  /** What the last server said, in one line. */
  diagnostic: string
  /** RFC 3464 §2.3.5. */
  remoteMta: string | null
  /** What the failure is about; null unless `action` is `failed` or `delayed`. */
  category: Category | null
  /** Name of the rule that told the category. */
  topic: string | null
  /** Whether the report says that the address does not exist. Nothing follows from it before the report is authenticated. */
  invalid: boolean
}

/** What names the message that a report or a reply is about. Hints: anybody could have written them. */
export interface MessageReferences {
  /** Of the returned message, with angle brackets. */
  messageId: string | null
  /** Of the returned message, or Original-Mail-From (RFC 5965 §3.2), without angle brackets. */
  returnPath: string | null
  /** Original-Envelope-Id (RFC 3464 §2.2.1, RFC 5965 §3.2). */
  envelopeId: string | null
  /** In-Reply-To and References of the received message itself (RFC 5322 §3.6.4). */
  inReplyTo: readonly string[]
  /** Own fields of the returned message by their names in lower case: X-Posthaste-*, Feedback-ID, CFBL-Feedback-ID (RFC 9477 §4.2). */
  fields: Readonly<Record<string, string>>
  /** To of the returned message. */
  to: string | null
  subject: string | null
}

/** What a feedback report says (RFC 5965 §3). */
export interface Feedback {
  /** In lower case: `abuse`, `fraud`, `opt-out`, … */
  type: string
  userAgent: string | null
  /** Original-Rcpt-To; redacted ones too (RFC 6590). */
  recipients: readonly string[]
  sourceIp: string | null
  reportedDomain: string | null
  /** In the reporter's words. */
  arrivalDate: string | null
  /** How many messages it is about. */
  incidents: number
  /** Auth-Failure (RFC 6591 §3.1), for failure reports. */
  authFailure: string | null
}

/** A received message, read. */
export interface Returned {
  kind: ReturnedKind
  /** What told the kind: `rfc3464`, `rfc5965`, or the name of a rule. */
  format: string
  recipients: readonly ReportedRecipient[]
  references: MessageReferences
  /** Reporting-MTA (RFC 3464 §2.2.2), in lower case. */
  reportingMta: string | null
  feedback: Feedback | null
  /** The octets of a DMARC aggregate or TLS report, decoded, still compressed. */
  report: Uint8Array | null
}

/**
 * What a report about a delivery led to. `bounced`: the delivery was · `suppressed`: its address as well · `complained` · `noted`: says
 * nothing final · `unchanged`: the delivery is queued, or bounced or was complained about before · `stranger`: not a recipient of the email · `ambiguous`: the email has
 * several recipients, and any of them could have written it.
 */
export const RETURNED_EFFECTS = [
  'bounced',
  'suppressed',
  'complained',
  'noted',
  'unchanged',
  'stranger',
  'ambiguous',
] as const
export type ReturnedEffect = (typeof RETURNED_EFFECTS)[number]

/** What one message says of one recipient, and what that changed. */
export interface ReportEntry {
  /** Null where the message names nobody. */
  recipient: string | null
  /** The delivery that it is about; null: none. */
  deliveryId: string | null
  /** Null for complaints. */
  action: ReportAction | null
  status: string | null
  diagnostic: string | null
  category: Category | null
  effect: ReturnedEffect
}

/** What a message to a return path says and what it changed. */
export interface ReturnedReport {
  /** `unreadable`: reading took too much time or memory, or ended the process. */
  kind: ReturnedKind | 'unreadable'
  format: string
  reportingMta: string | null
  /** At most 100. */
  entries: ReportEntry[]
}

/** A test of a header field: the pattern must be found in its value. */
export interface FieldTest {
  /** In lower case. */
  field: string
  pattern: RegExp
}

/** A format that no structure tells, as data (config/returned-mail.toml). All conditions that are given must fit. */
export interface ReturnedFormat {
  name: string
  kind: 'bounce' | 'delayed' | 'complaint' | 'auto-reply' | 'challenge' | 'other'
  /** All must fit. */
  header: readonly FieldTest[]
  /** One must fit. */
  anyHeader: readonly FieldTest[]
  /** One must be found at the beginning of the text. */
  opening: readonly RegExp[]
  /** One must be found in the text. */
  text: readonly RegExp[]
  /** Finds a recipient in a line: the first group is the address. What follows is the reason. */
  recipient: readonly RegExp[]
  /** A field that lists recipients. */
  recipientField: string | null
  /** Finds the line after which the returned message stands. */
  copy: readonly RegExp[]
  /** Without a recipient the format does not fit. */
  needsRecipient: boolean
}
