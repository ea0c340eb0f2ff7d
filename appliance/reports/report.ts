/** Builds a report as an email, with its sender and parts (RFC 3464 §2, RFC 6522). Pure. */
import { formatDateTime } from '../mail/date.ts'
import type { ReportKind } from '../mail/dsn.ts'
import { DEFAULT_POOL } from '../mail/source.ts'
import { RETRY_PERIOD } from '../queue/schedule.ts'
import type { DueReport, NewEmail, ReportedDelivery } from '../storage/storage.ts'
import { buildMultipart, buildTextPart } from './mime.ts'
import { buildReturnedMessagePart } from './returned.ts'
import { buildStatusPart } from './status.ts'
import { explainReport } from './readable-part.ts'

/** The input for a report. */
export interface ReportFacts {
  /** IDs of the report and of its only delivery. */
  id: string
  deliveryId: string
  due: DueReport
  /** The message as accepted; undefined if it is no longer stored. */
  original: Uint8Array | undefined
  /** Reporting-MTA. */
  hostname: string
  now: number
}

const SUBJECT: Record<ReportKind, string> = {
  failed: 'Your message could not be delivered',
  delayed: 'Your message is delayed',
  relayed: 'Your message was relayed',
}

/** Returns the deliveries that a due report still applies to: a delay that has ended isn't reported. */
export function selectDeliveriesToReport({ kind, deliveries }: DueReport): ReportedDelivery[] {
  return kind === 'delayed' ? deliveries.filter(({ state }) => state === 'waiting') : deliveries
}

/**
 * Builds the report for the spool. The report has the null reverse-path (RFC 3464 §2: no report about a report), so SPF
 * applies to the server's own name. The From domain is that of the email, and the domain's key signs the report, so
 * DMARC passes.
 */
export function buildReportEmail(facts: ReportFacts): NewEmail {
  const { id, deliveryId, now } = facts
  const due = { ...facts.due, deliveries: selectDeliveriesToReport(facts.due) }
  const { teamId, domainId, domain, reportTo, kind, requireTls } = due
  const from = `Mail Delivery System <mailer-daemon@${domain}>`
  const messageId = `<${id}@${domain}>`
  const text = explainReport(due, facts.hostname)
  return {
    id,
    teamId,
    domainId,
    apiKeyId: null,
    via: 'report',
    messageId,
    from,
    to: [reportTo],
    cc: [],
    bcc: [],
    replyTo: [],
    subject: SUBJECT[kind],
    content: { place: 'row', html: null, text },
    headers: [],
    tags: [],
    attachments: [],
    returnPath: '',
    reportTo: null,
    dsn: null,
    scheduledAt: null,
    stream: 'transactional',
    topicId: null,
    pool: DEFAULT_POOL,
    // RFC 8689 §5: a report is protected like the original message.
    requireTls: requireTls === 'yes' ? 'yes' : null,
    message: compose({ ...facts, due }, { from, messageId, text }),
    deliveries: [
      {
        id: deliveryId,
        recipient: reportTo,
        field: 'to',
        dueAt: now,
        expiresAt: now + RETRY_PERIOD,
        suppressed: null,
        dsn: null,
      },
    ],
  }
}

function compose(
  { id, due, original, hostname, now }: ReportFacts,
  { from, messageId, text }: { from: string; messageId: string; text: string },
): Uint8Array {
  const { kind, messageId: about, reportTo, dsn, requireTls } = due
  // The app's Message-ID may be invalid.
  const answers = /^<[!-;=?-~]{1,250}>$/.test(about) ? [`In-Reply-To: ${about}`, `References: ${about}`] : []
  return buildMultipart({
    header: [
      `From: ${from}`,
      `To: <${reportTo}>`,
      `Subject: ${SUBJECT[kind]}`,
      `Date: ${formatDateTime(now)}`,
      `Message-ID: ${messageId}`,
      ...answers,
      'Auto-Submitted: auto-replied', // RFC 3834 §5
    ],
    // The report's id was created after the returned message, so the boundary can't occur in the message.
    boundary: `report-${id}`,
    type: 'multipart/report; report-type=delivery-status',
    parts: [
      buildTextPart('Explanation', text),
      buildStatusPart(due, hostname),
      // RFC 8689 §5: return only the header, whatever RET says.
      ...(original
        ? [buildReturnedMessagePart(original, kind, requireTls === 'yes' ? 'HDRS' : dsn.ret)]
        : []),
    ],
  })
}
