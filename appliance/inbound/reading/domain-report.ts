/**
 * Reads a message with a DMARC or TLS report and summarizes its data on a domain. Pure, but slow for large reports: run
 * it in a thread.
 */
import type { DmarcRecord, DmarcReport } from '../../mail/dmarc-report.ts'
import type { DmarcRow, ParsedDomainReport, TlsRow } from '../../mail/domain-report.ts'
import type { ReceivedTlsReport, TlsPolicyResult } from '../../mail/received-tls-report.ts'
import { normalizeIp } from '../../wire/networks.ts'
import { parseDmarcReport } from './dmarc.ts'
import type { ReportProblem } from './unpack.ts'
import { parseMessage } from './parts.ts'
import { findReport } from './report-part.ts'
import { parseTlsReport } from './tls-report.ts'

/** `foreign`: the report is about another domain. */
export type DomainReportParseResult =
  { kind: 'report'; report: ParsedDomainReport } | { kind: 'problem'; problem: ReportProblem | 'foreign' }

/** Maximum number of rows in one report; those with the largest counts are kept. */
const MOST_ROWS = 1000
/** Maximum number of messages or sessions in one row, so that sums stay exact whatever a report claims. */
const MOST_COUNT = 1_000_000_000
const MOST_NAME = 255
const MOST_TEXT = 200

/**
 * Reads the report in a message.
 *
 * @param domain in lower case, A-labels; reports about its subdomains count as well
 */
export function parseDomainReport(message: Uint8Array, domain: string): DomainReportParseResult {
  const found = findReport(parseMessage(message))
  if (!found) return { kind: 'problem', problem: 'not-a-report' }
  const reading =
    found.kind === 'dmarc-aggregate' ? parseDmarcReport(found.report) : parseTlsReport(found.report)
  if (reading.kind === 'problem') return reading
  const report =
    'records' in reading.report ? sumDmarc(reading.report, domain) : sumTls(reading.report, domain)
  return report ? { kind: 'report', report } : { kind: 'problem', problem: 'foreign' }
}

const isAbout = (name: string, domain: string): boolean => name === domain || name.endsWith(`.${domain}`)
const cut = (text: string, most = MOST_TEXT): string => text.slice(0, most).toWellFormed()
const bounded = (count: number): number => Math.min(count, MOST_COUNT)
const sum = (counts: readonly number[]): number => counts.reduce((all, one) => all + one, 0)

function sumDmarc(report: DmarcReport, domain: string): ParsedDomainReport | undefined {
  const { organization, reportId, policy, begin, end, skipped } = report
  if (!isAbout(policy.domain, domain)) return undefined
  const rows = merge(report.records.map(dmarcRow), ({ messages: _, ...same }) => same, 'messages')
  const failed = rows.filter(({ dkimAligned, spfAligned }) => !dkimAligned && !spfAligned)
  return {
    kind: 'dmarc',
    organization: cut(organization),
    reportId: cut(reportId),
    policyDomain: cut(policy.domain, MOST_NAME),
    policy: Object.fromEntries(
      Object.entries(policy).map(([name, text]) => [name, cut(text as string, MOST_NAME)]),
    ) as unknown as DmarcReport['policy'],
    begin,
    end,
    total: sum(rows.map(({ messages }) => messages)),
    failed: sum(failed.map(({ messages }) => messages)),
    skipped: skipped + Math.max(0, rows.length - MOST_ROWS),
    dmarc: rows.slice(0, MOST_ROWS),
    tls: [],
  }
}

function dmarcRow(record: DmarcRecord): DmarcRow {
  const isOf = ({ domain }: { domain: string }): boolean =>
    record.headerFrom === domain || record.headerFrom.endsWith(`.${domain}`)
  const passing = record.dkim.filter(({ result }) => result === 'pass')
  const signature = passing.find(isOf) ?? passing[0] ?? record.dkim[0]
  const spf = record.spf.find(({ scope }) => scope !== 'helo') ?? record.spf[0]
  return {
    sourceIp: normalizeIp(record.sourceIp) ?? record.sourceIp,
    headerFrom: cut(record.headerFrom, MOST_NAME),
    disposition: record.disposition,
    dkimAligned: record.dkimAligned,
    spfAligned: record.spfAligned,
    dkimDomain: cut(signature?.domain ?? '', MOST_NAME),
    dkimResult: signature?.result ?? 'none',
    spfDomain: cut(spf?.domain ?? record.envelopeFrom, MOST_NAME),
    spfResult: spf?.result ?? 'unknown',
    reason: cut(record.reasons[0]?.type ?? ''),
    messages: bounded(record.count),
  }
}

function sumTls(report: ReceivedTlsReport, domain: string): ParsedDomainReport | undefined {
  const { organization, reportId, begin, end } = report
  const policies = report.policies.filter((one) => isAbout(one.domain, domain))
  const [first] = policies
  if (!first) return undefined
  const rows = merge(policies.flatMap(tlsRows), ({ sessions: _, ...same }) => same, 'sessions')
  return {
    kind: 'tls',
    organization: cut(organization),
    reportId: cut(reportId),
    policyDomain: cut(first.domain, MOST_NAME),
    policy: null,
    begin,
    end,
    total: sum(rows.map(({ sessions }) => sessions)),
    failed: sum(rows.filter(({ failure }) => failure !== '').map(({ sessions }) => sessions)),
    skipped: Math.max(0, rows.length - MOST_ROWS),
    dmarc: [],
    tls: rows.slice(0, MOST_ROWS),
  }
}

function tlsRows({ type, successful, failed, failures }: TlsPolicyResult): TlsRow[] {
  const row = (failure: string, sessions: number, receivingMx = '', reason = ''): TlsRow => ({
    policyType: type,
    failure: cut(failure),
    receivingMx: cut(receivingMx, MOST_NAME),
    reason: cut(reason),
    sessions: bounded(sessions),
  })
  const detailed = failures.map((one) =>
    row(one.type === '' ? 'unknown' : one.type, one.sessions, one.receivingMx, one.reason),
  )
  // Details may be missing, or may not add up to the total.
  const rest = failed - sum(detailed.map(({ sessions }) => sessions))
  return [row('', successful), ...detailed, row('unknown', rest)].filter(({ sessions }) => sessions > 0)
}

/** Merges rows that differ only in their count; largest first. */
function merge<T extends DmarcRow | TlsRow>(rows: readonly T[], sameOf: (row: T) => object, count: keyof T) {
  const merged = new Map<string, T>()
  for (const row of rows) {
    const key = JSON.stringify(sameOf(row))
    const before = merged.get(key)
    const total = bounded(Number(before?.[count] ?? 0) + Number(row[count]))
    merged.set(key, { ...row, [count]: total })
  }
  return [...merged.values()].toSorted((a, b) => Number(b[count]) - Number(a[count]))
}
