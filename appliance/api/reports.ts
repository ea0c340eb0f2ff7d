/** DMARC and TLS reports that other servers send about a domain. Not part of the hosted API. */
import { Type, type Static } from 'typebox'
import { DISPOSITIONS } from '../mail/dmarc-report.ts'
import type { DmarcRow, TlsRow } from '../mail/domain-report.ts'
import type { DmarcSource } from '../mail/dmarc-summary.ts'
import type { TlsSummary } from '../mail/tls-summary.ts'
import type { DomainReport as StoredReport } from '../storage/storage.ts'
import { operationsIn } from './operation.ts'
import { byId, choice, page, path, pathId, pathUuid, query } from './parameters.ts'
import {
  emptyToNull,
  presentFailure,
  presentSource,
  DmarcReportSource,
  TlsReportFailure,
} from './report-summaries.ts'
import { array, boolean, count, kind, literals, Nullable, object, string } from './schemas.ts'
import { Id, listOf, Timestamp } from './shared.ts'
import { timestamp } from './timestamp.ts'

const fields = {
  id: Id,
  kind: literals(['dmarc', 'tls'], 'dmarc: RFC 9990, RFC 7489 · tls: RFC 8460.'),
  domain_id: Id,
  received_at: Timestamp,
  submitter: string('The domain that sent the report. It is authenticated.'),
  organization: string('The reporter, in its own words; empty: unnamed.'),
  report_id: string("The reporter's id of the report."),
  policy_domain: string('The domain, or a subdomain, that the report is about.'),
  policy: Nullable(
    Type.String(),
    'The DMARC policy that the reporter found: none, quarantine or reject; null: unknown.',
  ),
  begins_at: Timestamp,
  ends_at: Timestamp,
  total: count('Messages, or sessions.'),
  failed: count('Those that failed DMARC, or TLS.'),
  skipped: count('Records that could not be read, or exceed 1,000.'),
}

export const DomainReportSummary = object('A DMARC or TLS report.', fields)
export type DomainReportSummary = Static<typeof DomainReportSummary>

const Disposition = literals(DISPOSITIONS, 'What the receiver did.')

const DmarcRecord = object('Messages with the same result.', {
  source_ip: string('The address that sent the messages.'),
  messages: count('Messages.'),
  header_from: string('The domain of the From field.'),
  disposition: Disposition,
  dkim_aligned: boolean('Whether DKIM passed for the From domain.'),
  spf_aligned: boolean('Whether SPF passed for the From domain.'),
  dkim_domain: string('The domain of the best signature; empty: none.'),
  dkim_result: string('Its result.'),
  spf_domain: string('The domain that SPF was checked for; empty: unknown.'),
  spf_result: string('Its result.'),
  reason: string('Why the receiver deviated from the policy; empty: it did not.'),
})
const TlsRecord = object('Sessions with the same result.', {
  policy_type: string('sts, tlsa or no-policy-found.'),
  failure: string('Result type (RFC 8460 §4.3); empty: the sessions succeeded.'),
  mx_host: string('The MX host; empty: not named.'),
  reason: string("The reporter's reason; empty: none."),
  sessions: count('Sessions.'),
})

export const DomainReport = object('A DMARC or TLS report with its records.', {
  object: kind('domain_report'),
  ...fields,
  policy_tags: Nullable(Type.String(), {
    description: 'The tags of the DMARC policy that the reporter found; null: unknown.',
    examples: ['p=quarantine; adkim=s'],
  }),
  sources: array(DmarcReportSource, 'What a DMARC report means, by source; most messages first.'),
  failures: array(TlsReportFailure, 'What a TLS report means, by failure; most sessions first.'),
  dmarc_records: array(DmarcRecord, 'What a DMARC report says, largest first.'),
  tls_records: array(TlsRecord, 'What a TLS report says, largest first.'),
})
export type DomainReport = Static<typeof DomainReport>

const operation = operationsIn('Domains')
export const listDomainReports = operation('GET /domains/:id/reports', {
  summary: 'List DMARC and TLS reports about a domain',
  description: 'Not part of the hosted API.',
  params: byId,
  querystring: query({ ...page, kind: choice(['dmarc', 'tls'], 'Only reports of this kind.') }),
  response: { 200: listOf(DomainReportSummary, 'reports') },
})
export const getDomainReport = operation('GET /domains/:id/reports/:report_id', {
  summary: 'Get a DMARC or TLS report',
  description: 'Not part of the hosted API.',
  params: path({ id: pathId, report_id: pathUuid('The id of the report.') }),
  response: { 200: DomainReport },
})

/** Formats an element of GET /domains/:id/reports. */
export const presentReport = (report: StoredReport): DomainReportSummary => ({
  id: report.id,
  kind: report.kind,
  domain_id: report.domainId,
  received_at: timestamp(report.receivedAt),
  submitter: report.submitter,
  organization: report.organization,
  report_id: report.reportId,
  policy_domain: report.policyDomain,
  policy: emptyToNull(report.policy?.p),
  begins_at: timestamp(report.begin),
  ends_at: timestamp(report.end),
  total: report.total,
  failed: report.failed,
  skipped: report.skipped,
})

/** A report with explanations. */
export interface ExplainedReport {
  report: StoredReport & { dmarc: DmarcRow[]; tls: TlsRow[] }
  sources: readonly DmarcSource[]
  failures: TlsSummary['failures']
  /** Reverse DNS of addresses. */
  names: ReadonlyMap<string, string>
}

/** Tags of a DMARC record (RFC 9989 §4.7) in their usual order. */
const TAGS = ['p', 'sp', 'np', 'adkim', 'aspf', 'pct', 'fo'] as const

/** Formats the response of GET /domains/:id/reports/:report_id. */
export const presentExplainedReport = ({
  report,
  sources,
  failures,
  names,
}: ExplainedReport): DomainReport => ({
  object: 'domain_report',
  ...presentReport(report),
  policy_tags: emptyToNull(
    TAGS.flatMap((tag) => (report.policy?.[tag] ? [`${tag}=${report.policy[tag]}`] : [])).join('; '),
  ),
  sources: sources.map((source) => presentSource(source, names)),
  failures: failures.map(presentFailure),
  dmarc_records: report.dmarc.map((row) => ({
    source_ip: row.sourceIp,
    messages: row.messages,
    header_from: row.headerFrom,
    disposition: row.disposition,
    dkim_aligned: row.dkimAligned,
    spf_aligned: row.spfAligned,
    dkim_domain: row.dkimDomain,
    dkim_result: row.dkimResult,
    spf_domain: row.spfDomain,
    spf_result: row.spfResult,
    reason: row.reason,
  })),
  tls_records: report.tls.map((row) => ({
    policy_type: row.policyType,
    failure: row.failure,
    mx_host: row.receivingMx,
    reason: row.reason,
    sessions: row.sessions,
  })),
})
