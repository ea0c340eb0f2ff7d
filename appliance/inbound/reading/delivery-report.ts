/**
 * Reads delivery status notifications: multipart/report with message/delivery-status (RFC 3464, RFC 6522, RFC 6533).
 * Pure.
 */
import type { ReportAction, ReportedRecipient } from '../../mail/returned.ts'
import { extractAddress, extractHost } from './addresses.ts'
import { decodeText, getDecodedField, type Part, type ParsedMessage } from './parts.ts'
import { findCodes, isVague, classifyFailure, collapseToLine, type Categorize } from './reason.ts'
import { looksLikeStatus, MAX_RECIPIENTS, parseStatusPart, type StatusFields } from './status-part.ts'

export interface DeliveryReport {
  recipients: ReportedRecipient[]
  reportingMta: string | null
  envelopeId: string | null
}

/** RFC 3464 §2, RFC 6533 §6, and types that some servers use instead. */
const STATUS_TYPES = [
  'message/delivery-status',
  'message/global-delivery-status',
  'message/xdelivery-status',
  'message/x-delivery-status',
]

/** Returns the report in a message, or undefined if it has none or the report names no recipient. */
export function parseDeliveryReport(
  message: ParsedMessage,
  notice: string,
  categorize: Categorize,
): DeliveryReport | undefined {
  const part = findStatusPart(message)
  if (!part) return undefined
  const { message: about, recipients } = parseStatusPart(decodeText(part))
  // A server that reports on one envelope may write a part for each recipient.
  const further = message.parts
    .filter((one) => one !== part && STATUS_TYPES.includes(one.type))
    .slice(0, 20)
    .flatMap((one) => parseStatusPart(decodeText(one)).recipients)
  const all = [...recipients, ...further].slice(0, MAX_RECIPIENTS)
  if (all.length === 0) return undefined
  const only = all.length === 1
  return {
    recipients: all.map((fields) => readRecipient(fields, only ? notice : '', categorize)),
    reportingMta: extractHost(about.get('reporting-mta')),
    envelopeId: about.get('original-envelope-id')?.slice(0, 400) ?? null,
  }
}

function findStatusPart({ parts, contentType, fields }: ParsedMessage): Part | undefined {
  const declared = parts.find(({ type }) => STATUS_TYPES.includes(type))
  if (declared) return declared
  // Accept misdeclared parts only in messages from a server. A person who quotes a report writes text above it or uses
  // their own name.
  const byServer =
    contentType.type === 'multipart/report' ||
    /mailer-?daemon|postmaster/i.test(getDecodedField(fields, 'from') ?? '')
  if (!byServer) return undefined
  return parts.find(
    (part) =>
      /^(?:text\/plain|text\/rfc822-headers|application\/octet-stream)$/.test(part.type) &&
      looksLikeStatus(decodeText(part)),
  )
}

function readRecipient(fields: StatusFields, notice: string, categorize: Categorize): ReportedRecipient {
  const original = extractAddress(fields.get('original-recipient') ?? '')
  const final =
    extractAddress(fields.get('final-recipient') ?? '') ??
    extractAddress(fields.get('x-actual-recipient') ?? '')
  const told = fields.get('status') ?? ''
  const written = diagnosticOf(fields)
  const action = actionOf(fields.get('action') ?? '', told)
  // Exchange puts the specific reason into the human-readable text and a generic status into the fields.
  const own = findCodes(written)
  const inNotice =
    written === '' || (isVague(own.status) && isVague(findCodes(told).status)) ? extractReason(notice) : ''
  const diagnostic =
    written === '' ? inNotice || collapseToLine(told.replace(/^[245]\.\d+\.\d+\W*/, '')) : written
  const found = mostSpecific([own, findCodes(told), findCodes(inNotice)])
  const judged =
    action === 'failed' || action === 'delayed'
      ? classifyFailure(categorize, {
          ...found,
          text: collapseToLine(`${diagnostic} ${inNotice === diagnostic ? '' : inNotice}`),
        })
      : null
  return {
    original,
    final: final ?? original,
    action,
    ...found,
    diagnostic,
    remoteMta: extractHost(fields.get('remote-mta')),
    category: judged?.category ?? null,
    topic: judged?.topic ?? null,
    invalid: action === 'failed' && judged?.invalid === true,
  }
}

/** Returns Diagnostic-Code without its type (RFC 3464 §2.3.6), which some servers omit. */
function diagnosticOf(fields: StatusFields): string {
  const value =
    fields.get('diagnostic-code') ?? fields.get('x-diagnostic-code') ?? fields.get('x-notes') ?? ''
  return collapseToLine(value.replace(/^\s*[a-z][\w-]{0,39}\s*;/i, ''))
}

/**
 * Returns the first status that is more specific than its class (RFC 3463 §3), else the first status; and the first
 * basic code.
 */
function mostSpecific(found: readonly ReturnType<typeof findCodes>[]): ReturnType<typeof findCodes> {
  const specific = found.find(({ status }) => !isVague(status)) ?? found.find(({ status }) => status !== null)
  return {
    code: found.find(({ code }) => code !== null)?.code ?? null,
    status: specific?.status ?? null,
  }
}

const ACTIONS: readonly (readonly [RegExp, ReportAction])[] = [
  [/^\W*(?:fail|undeliver|bounce|reject|not.?deliver)/i, 'failed'],
  [/^\W*(?:delay|defer|warn)/i, 'delayed'],
  [/^\W*(?:deliver|success)/i, 'delivered'],
  [/^\W*relay/i, 'relayed'],
  [/^\W*expand/i, 'expanded'],
]

/** Returns the action (RFC 3464 §2.3.3). If Action is missing or unknown, the class of the status decides. */
function actionOf(value: string, status: string): ReportAction {
  const known = ACTIONS.find(([pattern]) => pattern.test(value))?.[1]
  if (known) return known
  const { code, status: enhanced } = findCodes(status)
  const digit = enhanced?.[0] ?? String(code ?? '')[0]
  if (digit === '2') return 'delivered'
  // Anything other than a clear final failure isn't final.
  return digit === '5' ? 'failed' : 'delayed'
}

/** Returns the first line of a human-readable text that has a reply code, with the line after it. */
export function extractReason(notice: string): string {
  const lines = notice.split('\n', 200).map((line) => line.trim().slice(0, 1000))
  const at = lines.findIndex((line) => {
    const { code, status } = findCodes(line)
    return status !== null || code !== null
  })
  return at < 0 ? '' : collapseToLine(lines.slice(at, at + 3).join(' '))
}
