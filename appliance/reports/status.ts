/** The part of a report that programs read: message/delivery-status (RFC 3464 §2). Pure. */
import { formatDateTime } from '../mail/date.ts'
import { encodeUtf8Address, type ReportKind } from '../mail/dsn.ts'
import { foldField } from '../mail/headers.ts'
import { formatReply } from '../mail/reply.ts'
import type { Cause } from '../mail/verdict.ts'
import type { DueReport, ReportedDelivery } from '../storage/storage.ts'
import type { Part } from './mime.ts'
import type { Phase } from '../mail/bounce.ts'

/** Characters of a diagnostic that are told, one line without spaces at most; the whole reply is in the transcript. */
const DIAGNOSTIC_CHARS = 900

/**
 * The fields of the message, then those of each delivery, with an empty line between (RFC 3464 §2.1). Always seven bits, in
 * which addresses beyond ASCII have a form too (RFC 6533 §3): the part then survives every server on its way.
 */
export function statusPart(due: DueReport, hostname: string): Part {
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

/** The fields of one delivery (RFC 3464 §2.3), in the order of the RFC. */
function aboutDelivery(delivery: ReportedDelivery, kind: ReportKind): string[] {
  const { recipient, dsn, cause, attempts, updatedAt, expiresAt } = delivery
  // RFC 3464 §2.3.6: with Remote-MTA the diagnostic is that server's word, so one that never spoke is not named.
  const remote = cause?.reply && cause.host !== null ? `dns; ${cause.host}` : null
  return written([
    ['Original-Recipient', dsn.orcpt === null ? null : originalRecipient(dsn.orcpt)],
    ['Final-Recipient', typed(recipient)],
    ['Action', kind],
    ['Status', statusOf(delivery, kind)],
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

/** ORCPT came with its type; one without is not passed off as another. */
function originalRecipient(orcpt: string): string | null {
  const [, type, address] = /^([a-z0-9][a-z0-9-]*);(.+)$/is.exec(orcpt) ?? []
  if (type === undefined || address === undefined) return null
  const utf8 = type.toLowerCase() === 'utf-8'
  return `${type}; ${utf8 ? encodeUtf8Address(address) : printable(address)}`
}

/** Our own word where no server spoke: by the phase in which it ended (RFC 3463 §3.5; X.7.5 is of §3.8). */
const DELAYED_IN: Partial<Record<Phase, string>> = {
  route: '4.4.3',
  connect: '4.4.1',
  greeting: '4.4.2',
  ehlo: '4.4.2',
  starttls: '4.7.5',
}

const CLASS: Record<ReportKind, string> = { failed: '5', delayed: '4', relayed: '2' }

/**
 * The enhanced status code (RFC 3463), of the class that fits what is told: a server that says "550 4.2.2" has refused.
 * A delivery whose time is up has the code of what kept it waiting, the same as in the report of its delay (RFC 3464 §2.3.3), and
 * 4.4.7 only where that is not known (RFC 3463 §3.5).
 */
export function statusOf({ state, cause }: ReportedDelivery, kind: ReportKind): string {
  const expired = state === 'expired'
  const digit = expired ? CLASS.delayed : CLASS[kind]
  const said = cause?.reply?.enhanced ?? cause?.status
  if (said?.startsWith(`${digit}.`)) return said
  const phase = digit === CLASS.delayed && cause && !cause.reply ? DELAYED_IN[cause.phase] : undefined
  return phase ?? (expired ? '4.4.7' : `${digit}.0.0`)
}

/** RFC 3464 §2.3.6: the type of a diagnostic that no server spoke is private. */
function diagnostic({ reply, note }: Cause): string {
  const text = reply ? `smtp; ${formatReply(reply)}` : `x-posthaste; ${note}`
  return printable(text).slice(0, DIAGNOSTIC_CHARS)
}

/** Nothing but printable ASCII and spaces gets into a field: a server, or an app, must not write lines of its own here. */
function printable(text: string): string {
  return text.replaceAll(/[^ -~]+/g, (chars) =>
    /^[\0-\x1f\x7f]+$/.test(chars) ? ' ' : '?'.repeat([...chars].length),
  )
}
