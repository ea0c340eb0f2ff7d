/**
 * Classifies a received message: a bounce, a complaint, an automatic reply, a report, … Checks the structure first,
 * then the table of formats. Doesn't decide the effects, which depend on the envelope. Pure.
 */
import type {
  MessageReferences,
  ReportedRecipient,
  ParsedReturnedMessage,
  ReturnedMailFormat,
  ReturnedMailKind,
} from '../../mail/returned.ts'
import { extractAddress } from './addresses.ts'
import { parseFeedbackReport } from './complaint.ts'
import { parseDeliveryReport } from './delivery-report.ts'
import { createUnnamedRecipients, parseNotice } from './notice.ts'
import { getField, parseMessage, getDecodedField, type ParsedMessage } from './parts.ts'
import { extractText } from './plain-text.ts'
import type { Categorize } from './reason.ts'
import { findReferences } from './references.ts'
import { findReport } from './report-part.ts'

export interface ClassificationRules {
  /** config/returned-mail.toml. */
  formats: readonly ReturnedMailFormat[]
  categorize: Categorize
}

/** Messages up to this size are read within a few milliseconds; larger ones are read in a thread. */
export const MAX_INLINE_SIZE = 256 * 1024

type Step = (
  message: ParsedMessage,
  notice: string,
  rules: ClassificationRules,
) => ParsedReturnedMessage | undefined

/** Reads a message. Never throws; time and memory grow only with its size. */
export function classifyReturnedMessage(
  bytes: Uint8Array,
  rules: ClassificationRules,
): ParsedReturnedMessage {
  const message = parseMessage(bytes)
  const notice = extractText(message)
  for (const step of STEPS) {
    const found = step(message, notice, rules)
    if (found) return found
  }
  const references = findReferences(message, '', null)
  return result(isReply(message, references) ? 'reply' : 'other', 'none', references)
}

function result(
  kind: ReturnedMailKind,
  format: string,
  references: MessageReferences,
  more: Partial<ParsedReturnedMessage> = {},
): ParsedReturnedMessage {
  return {
    kind,
    format,
    recipients: [],
    references,
    reportingMta: null,
    feedback: null,
    report: null,
    ...more,
  }
}

/** Reads feedback reports (RFC 5965). Comes before delivery reports, because both may return the message. */
const asFeedback: Step = (message) => {
  const found = parseFeedbackReport(message)
  if (!found) return undefined
  const references = findReferences(message, '', found.envelopeId, found.mailFrom)
  return result(found.kind, found.kind === 'dmarc-failure' ? 'rfc6591' : 'rfc5965', references, {
    feedback: found.feedback,
  })
}

const asReport: Step = (message) => {
  const found = findReport(message)
  if (!found) return undefined
  const format = found.kind === 'tls-report' ? 'rfc8460' : 'rfc9990'
  return result(found.kind, format, findReferences(message, '', null), { report: found.report })
}

/** Recognizes read receipts (RFC 8098 §3). They are not bounces, even if they report a deletion. */
const asReceipt: Step = (message) => {
  const { contentType, parts } = message
  const declared = contentType.parameters.get('report-type')?.toLowerCase() === 'disposition-notification'
  const has = parts.some(({ type }) => /^message\/(?:global-)?disposition-notification$/.test(type))
  return declared || has ? result('read-receipt', 'rfc8098', findReferences(message, '', null)) : undefined
}

/** Reads delivery reports (RFC 3464). */
const asDeliveryReport: Step = (message, notice, { categorize }) => {
  const found = parseDeliveryReport(message, notice, categorize)
  if (!found) return undefined
  const { recipients, reportingMta, envelopeId } = found
  const references = findReferences(message, '', envelopeId)
  return result(worst(recipients), 'rfc3464', references, { recipients, reportingMta })
}

/** Reads messages that can only be classified by their text. */
const asNotice: Step = (message, notice, { formats, categorize }) => {
  const found = parseNotice(message, notice, formats, categorize)
  if (!found) return undefined
  const { format, copy } = found
  const references = findReferences(message, copy, null)
  const feedback = format.kind === 'complaint' ? complaintOf(message, format) : null
  const recipients = createUnnamedRecipients(found, notice, categorize)
  return result(format.kind, format.name, references, { recipients, feedback })
}

const STEPS: readonly Step[] = [asFeedback, asReport, asReceipt, asDeliveryReport, asNotice]

/** Returns the worst outcome of the recipients. Only `failed` ends a delivery (RFC 3464 §2.3.3). */
function worst(recipients: readonly ReportedRecipient[]): ReturnedMailKind {
  const has = (action: ReportedRecipient['action']): boolean =>
    recipients.some((one) => one.action === action)
  if (has('failed')) return 'bounce'
  return has('delayed') ? 'delayed' : 'success'
}

function complaintOf(
  message: ParsedMessage,
  { recipientField }: ReturnedMailFormat,
): ParsedReturnedMessage['feedback'] {
  const field = recipientField ?? ''
  // If the report lacks the field, the returned message may have it.
  const written = getDecodedField(message.fields, field) ?? returnedField(message, field) ?? ''
  const recipient = extractAddress(written)
  const sourceIp =
    /\b\d{1,3}(?:\.\d{1,3}){3}\b/.exec(getDecodedField(message.fields, 'subject') ?? '')?.[0] ?? null
  const unknown = { userAgent: null, reportedDomain: null, arrivalDate: null, authFailure: null }
  return {
    type: 'abuse',
    recipients: recipient === null ? [] : [recipient],
    sourceIp,
    incidents: 1,
    ...unknown,
  }
}

function returnedField({ parts }: ParsedMessage, field: string): string | undefined {
  const returned = parts.find(({ type }) => type === 'message/rfc822')
  return returned && getField(parseMessage(returned.body.subarray(0, 64 * 1024)).fields, field)
}

/** Reports whether a message is a reply (RFC 5322 §3.6.4). */
function isReply({ fields }: ParsedMessage, { inReplyTo }: MessageReferences): boolean {
  if (inReplyTo.length > 0) return true
  return /^(?:re|aw|sv|antw|ref|rv|odp|vs)\s?(?:\[\d{1,3}\])?:/i.test(
    getDecodedField(fields, 'subject') ?? '',
  )
}
