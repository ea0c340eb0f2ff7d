/** Builds a TLS report (RFC 8460 §4) and the email that contains it (§5). Pure. */
import { gzipSync } from 'node:zlib'
import { formatDateTime } from '../mail/date.ts'
import { foldField } from '../mail/headers.ts'
import { DEFAULT_POOL } from '../mail/source.ts'
import { RETRY_PERIOD } from '../queue/schedule.ts'
import type { NewEmail, ReportedPolicy, TlsCount } from '../storage/storage.ts'
import { buildBinaryPart, buildMultipart, buildTextPart } from './mime.ts'

/** The input of a report. */
export interface TlsReportFacts {
  /** Name of this server, the submitter. */
  hostname: string
  /** An email address for questions. */
  contact: string
  /** The reported UTC day, YYYY-MM-DD. */
  day: string
  /** The recipient domain. */
  domain: string
  results: TlsCount[]
}

/** The JSON document of RFC 8460 §4.4. */
export interface TlsReport {
  'organization-name': string
  'date-range': { 'start-datetime': string; 'end-datetime': string }
  'contact-info': string
  'report-id': string
  policies: PolicyReport[]
}

interface PolicyReport {
  policy: { 'policy-type': string; 'policy-string'?: string[]; 'policy-domain': string; 'mx-host'?: string[] }
  summary: { 'total-successful-session-count': number; 'total-failure-session-count': number }
  'failure-details'?: FailureDetails[]
}

interface FailureDetails {
  'result-type': string
  'sending-mta-ip'?: string
  'receiving-mx-hostname'?: string
  'receiving-ip'?: string
  'failed-session-count': number
  'failure-reason-code'?: string
}

/** Returns a report ID that is unique among all reporters, and always the same for one report. */
const idOf = ({ day, domain, hostname }: TlsReportFacts): string => `${day}.${domain}@${hostname}`

/** Builds the report of one day about one domain. */
export function buildTlsReport(facts: TlsReportFacts): TlsReport {
  const { hostname, contact, day, results } = facts
  const groups = Map.groupBy(results, ({ policy }) => JSON.stringify(policy))
  return {
    'organization-name': hostname,
    'date-range': { 'start-datetime': `${day}T00:00:00Z`, 'end-datetime': `${day}T23:59:59Z` },
    'contact-info': contact,
    'report-id': idOf(facts),
    policies: [...groups.values()].map((group) => policyReport(group[0]!.policy, group)),
  }
}

const sum = (results: TlsCount[]): number => results.reduce((total, { sessions }) => total + sessions, 0)

function policyReport({ type, domain, strings, mxHosts }: ReportedPolicy, results: TlsCount[]): PolicyReport {
  const failures = results.filter(({ result }) => result !== 'success')
  return {
    policy: {
      'policy-type': type,
      ...(strings.length > 0 ? { 'policy-string': strings } : {}),
      'policy-domain': domain,
      ...(mxHosts.length > 0 ? { 'mx-host': mxHosts } : {}),
    },
    summary: {
      'total-successful-session-count': sum(results) - sum(failures),
      'total-failure-session-count': sum(failures),
    },
    ...(failures.length > 0 ? { 'failure-details': failures.map(details) } : {}),
  }
}

function details({ result, sourceIp, mxHost, mxIp, sessions, reason }: TlsCount): FailureDetails {
  return {
    'result-type': result,
    ...(sourceIp === '' ? {} : { 'sending-mta-ip': sourceIp }),
    ...(mxHost === '' ? {} : { 'receiving-mx-hostname': mxHost }),
    ...(mxIp === '' ? {} : { 'receiving-ip': mxIp }),
    'failed-session-count': sessions,
    ...(reason === '' ? {} : { 'failure-reason-code': reason }),
  }
}

/** Compresses the report with gzip, for mail and HTTPS (RFC 8460 §5.2). */
export function compressReport(report: TlsReport): Uint8Array {
  return gzipSync(JSON.stringify(report))
}

/** Media type of a compressed report (RFC 8460 §6.4). */
export const TLSRPT_GZIP = 'application/tlsrpt+gzip'

/** Sender and recipient of a report email. */
export interface TlsReportEnvelope {
  id: string
  deliveryId: string
  teamId: string
  domainId: string
  /** `tls_reports.from`. */
  from: string
  to: string
  now: number
}

/**
 * Builds the email (RFC 8460 §5.3). It has the null reverse-path, because nobody should answer it. `TLS-Required: No`
 * allows delivery despite the broken TLS that the report is about (RFC 8689 §3), and excludes the email from the
 * counts.
 */
export function buildTlsReportEmail(
  facts: TlsReportFacts,
  packed: Uint8Array,
  envelope: TlsReportEnvelope,
): NewEmail {
  const { id, deliveryId, teamId, domainId, from, to, now } = envelope
  const { domain, hostname, day } = facts
  const messageId = `<${id}@${from.slice(from.lastIndexOf('@') + 1)}>`
  const subject = `Report Domain: ${domain} Submitter: ${hostname} Report-ID: <${idOf(facts)}>`
  const text = `This is a report about TLS (RFC 8460) from ${hostname}.\n\nIt counts the connections of ${day} (UTC) to the mail servers of ${domain}.\n`
  return {
    id,
    teamId,
    domainId,
    apiKeyId: null,
    via: 'report',
    messageId,
    from,
    to: [to],
    cc: [],
    bcc: [],
    replyTo: [],
    subject,
    content: { place: 'row', html: null, text },
    headers: [],
    tags: [],
    attachments: [],
    returnPath: '',
    reportTo: null,
    dsn: null,
    scheduledAt: null,
    requireTls: 'no',
    stream: 'transactional',
    topicId: null,
    pool: DEFAULT_POOL,
    message: compose(facts, packed, { ...envelope, messageId, subject, text }),
    deliveries: [
      {
        id: deliveryId,
        recipient: to,
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
  { domain, hostname, day }: TlsReportFacts,
  packed: Uint8Array,
  {
    id,
    from,
    to,
    now,
    messageId,
    subject,
    text,
  }: TlsReportEnvelope & { messageId: string; subject: string; text: string },
): Uint8Array {
  const start = Date.parse(`${day}T00:00:00Z`) / 1000
  // RFC 8460 §5.1.
  const filename = `${hostname}!${domain}!${start}!${start + 86_399}.json.gz`
  return buildMultipart({
    header: [
      `From: ${from}`,
      `To: <${to}>`,
      foldField('Subject', subject),
      `Date: ${formatDateTime(now)}`,
      `Message-ID: ${messageId}`,
      `TLS-Report-Domain: ${domain}`,
      `TLS-Report-Submitter: ${hostname}`,
      'TLS-Required: No',
      'Auto-Submitted: auto-generated', // RFC 3834 §5
    ],
    boundary: `report-${id}`,
    type: 'multipart/report; report-type="tlsrpt"',
    parts: [
      buildTextPart('Explanation', text),
      buildBinaryPart(
        [
          `Content-Type: ${TLSRPT_GZIP}`,
          `Content-Disposition: attachment;\r\n filename="${filename}"`,
          'Content-Description: TLS report',
        ],
        packed,
      ),
    ],
  })
}
