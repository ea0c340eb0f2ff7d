/** Builds the machine-readable part of a report: message/delivery-status (RFC 3464 §2). Pure. */
import { formatDateTime } from '../mail/date.ts'
import { encodeUtf8Address, type ReportKind } from '../mail/dsn.ts'
import { foldField } from '../mail/headers.ts'
import { formatReply } from '../mail/reply.ts'
import type { Cause } from '../mail/verdict.ts'
import type { DueReport, ReportedDelivery } from '../storage/storage.ts'
import type { Part } from './mime.ts'
import type { Phase } from '../mail/bounce.ts'

/**
 * Maximum number of characters of a diagnostic, which may be one line without spaces; the transcript contains the whole
 * reply.
 */
const DIAGNOSTIC_CHARS = 900

/**
 * Formats the fields of the message, then those of each delivery, separated by empty lines (RFC 3464 §2.1). Always
 * 7-bit, because non-ASCII addresses can be encoded (RFC 6533 §3), so that every server accepts the part.
 */
export function buildStatusPart(due: DueReport, hostname: string): Part {
  const groups = [aboutMessage(due, hostname), ...due.deliveries.map((one) => aboutDelivery(one, due.kind))]
  const body = groups.map((fields) => fields.map((field) => `${field}\r\n`).join('')).join('\r\n')
  return {
    header: ['Content-Type: message/delivery-status', 'Content-Description: Delivery report'],
    encoding: '7bit',
    body: Buffer.from(body),
  }
}

type Field = [name: string, value: string | null]

const written = (fields: Field[]): string[] =>
  fields.flatMap(([name, value]) => (value === null ? [] : [foldField(name, value)]))

function aboutMessage({ emailId, createdAt, dsn }: DueReport, hostname: string): string[] {
  return written([
    ['Original-Envelope-Id', dsn.envid === null ? null : printable(dsn.envid)],
    ['Reporting-MTA', `dns; ${hostname}`],
    ['X-Posthaste-Email-Id', emailId],
    ['Arrival-Date', formatDateTime(createdAt)],
  ])
}

/** Formats the fields of a delivery in the order of RFC 3464 §2.3. */
function aboutDelivery(delivery: ReportedDelivery, kind: ReportKind): string[] {
  const { recipient, dsn, cause, attempts, updatedAt, expiresAt } = delivery
  // RFC 3464 §2.3.6: Remote-MTA says that the diagnostic comes from that server, so a server that never replied isn't
  // named.
  const remote = cause?.reply && cause.host !== null ? `dns; ${cause.host}` : null
  return written([
    ['Original-Recipient', dsn.orcpt === null ? null : originalRecipient(dsn.orcpt)],
    ['Final-Recipient', typed(recipient)],
    ['Action', kind],
    ['Status', chooseStatus(delivery, kind)],
    ['Remote-MTA', remote],
    ['Diagnostic-Code', cause && diagnostic(cause)],
    ['Last-Attempt-Date', attempts > 0 ? formatDateTime(updatedAt) : null],
    ['Will-Retry-Until', kind === 'delayed' && expiresAt !== null ? formatDateTime(expiresAt) : null],
  ])
}

function typed(address: string): string {
  return /^[\0-\x7f]*$/.test(address)
    ? `rfc822; ${printable(address)}`
    : `utf-8; ${encodeUtf8Address(address)}`
}

/** Returns ORCPT with its type; null if it has no type. */
function originalRecipient(orcpt: string): string | null {
  const [, type, address] = /^([a-z0-9][a-z0-9-]*);(.+)$/is.exec(orcpt) ?? []
  if (type === undefined || address === undefined) return null
  const utf8 = type.toLowerCase() === 'utf-8'
  return `${type}; ${utf8 ? encodeUtf8Address(address) : printable(address)}`
}

/** Our own status codes if no server replied, by phase (RFC 3463 §3.5; X.7.5 is from §3.8). */
const DELAYED_IN: Partial<Record<Phase, string>> = {
  route: '4.4.3',
  connect: '4.4.1',
  greeting: '4.4.2',
  ehlo: '4.4.2',
  starttls: '4.7.5',
}

const CLASS: Record<ReportKind, string> = { failed: '5', delayed: '4', relayed: '2' }

/**
 * Returns the enhanced status code (RFC 3463), with a class that matches the report: "550 4.2.2" is a refusal. An
 * expired delivery has the code of its last delay, as in the delay report (RFC 3464 §2.3.3), or 4.4.7 if that is
 * unknown (RFC 3463 §3.5).
 */
export function chooseStatus({ state, cause }: ReportedDelivery, kind: ReportKind): string {
  const expired = state === 'expired'
  const digit = expired ? CLASS.delayed : CLASS[kind]
  const said = cause?.reply?.enhanced ?? cause?.status
  if (said?.startsWith(`${digit}.`)) return said
  const phase = digit === CLASS.delayed && cause && !cause.reply ? DELAYED_IN[cause.phase] : undefined
  return phase ?? (expired ? '4.4.7' : `${digit}.0.0`)
}

/** Returns the diagnostic. If no server replied, its type is a private one (RFC 3464 §2.3.6). */
function diagnostic({ reply, note }: Cause): string {
  const text = reply ? `smtp; ${formatReply(reply)}` : `x-posthaste; ${note}`
  return printable(text).slice(0, DIAGNOSTIC_CHARS)
}

/** Allows only printable ASCII and spaces, so that a server or app can't inject lines. */
function printable(text: string): string {
  return text.replaceAll(/[^ -~]+/g, (chars) =>
    /^[\0-\x1f\x7f]+$/.test(chars) ? ' ' : '?'.repeat([...chars].length),
  )
}
