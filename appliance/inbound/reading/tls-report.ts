/** Reads TLS reports of other servers (RFC 8460 §4.4): JSON, gzip or plain. Pure. */
import type { ReceivedTlsReport, TlsFailure, TlsPolicyResult } from '../../mail/received-tls-report.ts'
import { decodeCharset } from './parts.ts'
import { parseInstant } from './report-time.ts'
import { createProblem, type ReportProblem, unpackReport, type UnpackLimits } from './unpack.ts'

export type TlsReportParseResult =
  { kind: 'report'; report: ReceivedTlsReport } | { kind: 'problem'; problem: ReportProblem }

/** Size limits. They are low because the whole JSON tree is in memory at once. */
const LIMITS: UnpackLimits = { packed: 2 * 1024 * 1024, unpacked: 10 * 1024 * 1024, ratio: 200 }
const MAX_POLICIES = 1000
const MAX_FAILURES = 10_000
const MAX_STRINGS = 100
const MAX_TEXT = 1000

/** Reads an attached or posted report (RFC 8460 §5.4). Run this in a thread: it parses up to 10 MB at once. */
export function parseTlsReport(packed: Uint8Array): TlsReportParseResult {
  const unpacked = unpackReport(packed, LIMITS)
  if (unpacked.kind === 'problem') return unpacked
  if (unpacked.bytes.length > LIMITS.unpacked) return createProblem('too-large')
  const json = parse(decodeCharset(unpacked.bytes, '').replace(/^\uFEFF/, ''))
  const report = reportOf(json)
  return report ? { kind: 'report', report } : createProblem(json === undefined ? 'damaged' : 'not-a-report')
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined // The caller reports the problem.
  }
}

type Json = Record<string, unknown>

const asObject = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
const asText = (value: unknown): string =>
  typeof value === 'string'
    ? value
        .slice(0, MAX_TEXT)
        .replaceAll(/[\s\p{Cc}]+/gu, ' ')
        .trim()
    : ''
const asList = (value: unknown, most: number): unknown[] =>
  (Array.isArray(value) ? (value as unknown[]) : value === undefined || value === null ? [] : [value]).slice(
    0,
    most,
  )
const asTexts = (value: unknown): string[] =>
  asList(value, MAX_STRINGS)
    .map(asText)
    .filter((one) => one !== '')

/** Some reporters write numbers as strings. */
function asCount(value: unknown): number {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isSafeInteger(number) && number > 0 ? number : 0
}

/** Builds a report (RFC 8460 §4.2); undefined without a time or any policy. */
function reportOf(json: unknown): ReceivedTlsReport | undefined {
  const report = asObject(json)
  const range = asObject(report['date-range'])
  const begin = parseInstant(asText(range['start-datetime']))
  const end = parseInstant(asText(range['end-datetime'])) ?? begin
  if (begin === undefined || end === undefined || report.policies === undefined) return undefined
  return {
    organization: asText(report['organization-name']),
    contact: asText(report['contact-info']),
    reportId: asText(report['report-id']),
    begin: Math.min(begin, end),
    end: Math.max(begin, end),
    policies: asList(report.policies, MAX_POLICIES).map((one) => policyOf(asObject(one))),
  }
}

const TYPES = ['tlsa', 'sts', 'no-policy-found'] as const

function policyOf(entry: Json): TlsPolicyResult {
  const policy = asObject(entry.policy)
  const summary = asObject(entry.summary)
  const type = asText(policy['policy-type']).toLowerCase()
  return {
    type: TYPES.find((one) => one === type) ?? 'unknown',
    domain: asText(policy['policy-domain']).toLowerCase().replace(/\.$/, ''),
    strings: asTexts(policy['policy-string']),
    // RFC 8460 §4.4 defines a string, but its example has a list.
    mxHosts: asTexts(policy['mx-host']),
    successful: asCount(summary['total-successful-session-count']),
    failed: asCount(summary['total-failure-session-count']),
    failures: asList(entry['failure-details'], MAX_FAILURES).map((one) => failureOf(asObject(one))),
  }
}

/** Builds a failure detail (RFC 8460 §4.3). */
function failureOf(details: Json): TlsFailure {
  return {
    type: asText(details['result-type']).toLowerCase(),
    sendingIp: asText(details['sending-mta-ip']),
    receivingIp: asText(details['receiving-ip']),
    receivingMx: asText(details['receiving-mx-hostname']).toLowerCase(),
    receivingHelo: asText(details['receiving-mx-helo']),
    sessions: asCount(details['failed-session-count']),
    reason: asText(details['failure-reason-code']),
    information: asText(details['additional-information'] ?? details['additional-info-uri']),
  }
}
