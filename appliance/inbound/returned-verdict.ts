/**
 * Decides the effects of a message to the signed return path of an email. A valid MAC proves that the writer has seen
 * the email: a server on its path, or one of its recipients. So a report counts only for recipients of that email, and
 * if there are several, none of them can suppress another. Everything else in the message may be forged. Pure.
 */
import type { BounceRule } from '../mail/bounce.ts'
import { formatReply, parseReply, type Reply } from '../mail/reply.ts'
import type {
  ReportedRecipient,
  ReportEntry,
  ParsedReturnedMessage,
  ReturnedMailReport,
} from '../mail/returned.ts'
import { toSuppressionKey } from '../mail/suppression.ts'
import type { Cause } from '../mail/verdict.ts'
import type { LateBounce, ReturnedDelivery, SettleReturnedArgs } from '../storage/storage.ts'

/** Maximum number of recipients of a report that are considered. */
const MOST_ENTRIES = 100
/** Longest server text that is shown, in UTF-16 units. */
const MAX_TEXT = 1000

/** The email that a message was returned for. */
export interface ReturnedMailContext {
  deliveries: readonly ReturnedDelivery[]
  /** Whether the message came to the return path. A message that only quotes the email can only be a complaint. */
  toReturnPath: boolean
}

export type ReturnedMailEffects = Omit<SettleReturnedArgs, 'id'>

/**
 * Decides the effects of a returned message on an email.
 *
 * @param rules the tables that the message was read with; `returned` is null if it could not be read
 */
export function evaluateReturnedMail(
  returned: ParsedReturnedMessage | null,
  email: ReturnedMailContext,
  rules: readonly BounceRule[],
): ReturnedMailEffects {
  const format = returned?.format ?? 'none'
  const reportingMta = returned?.reportingMta ?? null
  const kind = returned?.kind ?? 'unreadable'
  const report: ReturnedMailReport = { kind, format, reportingMta, entries: [] }
  const judged: ReturnedMailEffects = { report, bounces: [], complaints: [] }
  if (!returned) return judged
  if (kind === 'complaint') return complaintFrom(returned, email, judged)
  if (!email.toReturnPath || !['bounce', 'delayed', 'success'].includes(kind)) return judged
  for (const one of returned.recipients.slice(0, MOST_ENTRIES)) {
    const delivery = deliveryOf(one, email.deliveries)
    const entry = entryOf(one, delivery, email.deliveries.length === 1)
    // A report may name a recipient twice.
    const again =
      entry.effect !== 'noted' && judged.bounces.some(({ deliveryId }) => deliveryId === entry.deliveryId)
    report.entries.push(again ? { ...entry, effect: 'unchanged' } : entry)
    if (!again && delivery && (entry.effect === 'bounced' || entry.effect === 'suppressed'))
      judged.bounces.push(bounceOf(one, entry, delivery, reportingMta, rules))
  }
  return judged
}

/** Reports whether a report may be too early: an attempt that it may be about has no stored result yet. */
export const isReportTooEarly = (deliveries: readonly ReturnedDelivery[]): boolean =>
  deliveries.some(({ leased }) => leased)

/**
 * Reports whether a failure is about a delivery that is queued or held. A crash may have lost the result of its
 * attempt; then the delivery is attempted again.
 */
export const isPrematureFailure = (
  { entries }: ReturnedMailReport,
  deliveries: readonly ReturnedDelivery[],
): boolean =>
  entries.some(
    ({ action, effect, deliveryId }) =>
      action === 'failed' &&
      effect === 'unchanged' &&
      deliveries.some(({ id, state }) => id === deliveryId && (state === 'waiting' || state === 'held')),
  )

/**
 * Finds the delivery of a report. A notice that names no recipient is about the email's only recipient, if there is
 * just one.
 */
function deliveryOf(
  { final, original }: ReportedRecipient,
  deliveries: readonly ReturnedDelivery[],
): ReturnedDelivery | null {
  if (final === null && original === null) return deliveries.length === 1 ? deliveries[0]! : null
  const named = [original, final].flatMap((one) => (one === null ? [] : [toSuppressionKey(one)]))
  return deliveries.find(({ recipient }) => named.includes(toSuppressionKey(recipient))) ?? null
}

function entryOf(one: ReportedRecipient, delivery: ReturnedDelivery | null, alone: boolean): ReportEntry {
  const { action, status, category } = one
  const said = { action, status, diagnostic: one.diagnostic.slice(0, MAX_TEXT), category }
  const recipient = one.original ?? one.final
  const about = { recipient, deliveryId: delivery?.id ?? null, ...said }
  if (!delivery) return { ...about, effect: recipient === null ? 'ambiguous' : 'stranger' }
  if (action !== 'failed') return { ...about, effect: 'noted' }
  if (delivery.state !== 'delivered' || delivery.complained) return { ...about, effect: 'unchanged' }
  const dead = one.invalid && alone && recipient !== null && !isTransient(one)
  return { ...about, effect: dead ? 'suppressed' : 'bounced' }
}

/** Reports whether the server stopped retrying after a temporary failure. */
const isTransient = ({ status, code }: ReportedRecipient): boolean =>
  status === null ? code !== null && code < 500 : status.startsWith('4')

function bounceOf(
  one: ReportedRecipient,
  { effect }: ReportEntry,
  { id, recipient }: ReturnedDelivery,
  reportingMta: string | null,
  rules: readonly BounceRule[],
): LateBounce {
  const rule = rules.find(({ topic, category }) => topic === one.topic && category === one.category)
  const reply = replyOf(one)
  const host = one.remoteMta ?? reportingMta
  const note = `${reportingMta ?? 'A mail server'} accepted the message and later reported that it could not be delivered.`
  const category = one.category ?? undefined
  const cause: Cause = { phase: 'report', host, ip: null, reply, note }
  if (category) cause.category = category
  if (rule?.advice) cause.advice = rule.advice
  const bounce: NonNullable<LateBounce['data']['bounce']> = {
    type: isTransient(one) ? 'Transient' : 'Permanent',
    subType: rule?.subType ?? 'General',
    message: note,
    diagnosticCode: [`smtp; ${formatReply(reply)}`],
  }
  if (category) bounce.category = category
  if (effect === 'suppressed') bounce.suppress = true
  return { deliveryId: id, cause, data: { recipient, cause, bounce } }
}

/** Builds an SMTP reply from the last server's answer. */
function replyOf(one: ReportedRecipient): Reply {
  const text = one.diagnostic.slice(0, MAX_TEXT)
  const whole = parseReply(text)
  const code = one.code ?? whole?.code ?? (isTransient(one) ? 450 : 550)
  return { code, enhanced: one.status ?? whole?.enhanced ?? null, text: whole?.text ?? text }
}

/**
 * Reads a complaint (RFC 5965). Recipients are often redacted (RFC 6590), so the complainant is known only if the email
 * has one recipient.
 */
function complaintFrom(
  { feedback, reportingMta }: ParsedReturnedMessage,
  email: ReturnedMailContext,
  judged: ReturnedMailEffects,
): ReturnedMailEffects {
  const only = email.deliveries.length === 1 ? email.deliveries[0]! : null
  const about = { action: null, status: null, diagnostic: feedback?.type ?? null, category: null }
  const entry = { recipient: only?.recipient ?? null, deliveryId: only?.id ?? null, ...about }
  if (!only) judged.report.entries.push({ ...entry, effect: 'ambiguous' })
  else if (only.complained) judged.report.entries.push({ ...entry, effect: 'unchanged' })
  else if (only.state !== 'delivered') judged.report.entries.push({ ...entry, effect: 'unchanged' })
  else {
    judged.report.entries.push({ ...entry, effect: 'complained' })
    const reporter = reportingMta ?? feedback?.userAgent?.slice(0, 100) ?? 'its mail provider'
    judged.complaints.push({
      deliveryId: only.id,
      reason: `The recipient reported the email as ${feedback?.type ?? 'abuse'}, according to a feedback report from ${reporter}.`,
    })
  }
  return judged
}
