/**
 * Summaries of the DMARC and TLS reports about a domain: sources, failures, reporters, days. Not part of the hosted
 * API.
 */
import { Type, type Static } from 'typebox'
import { SOURCE_KINDS, type DmarcSource } from '../mail/dmarc-summary.ts'
import { refuse } from '../mail/refusals.ts'
import type { TlsSummary } from '../mail/tls-summary.ts'
import type { ReportDay } from '../storage/storage.ts'
import { operationsIn } from './operation.ts'
import { byId, optional, query } from './parameters.ts'
import {
  array,
  arrayOfObjects,
  boolean,
  count,
  integer,
  kind,
  literals,
  Nullable,
  object,
  string,
} from './schemas.ts'
import { Id, Timestamp } from './shared.ts'
import { timestamp } from './timestamp.ts'

const Messages = count('Messages.')

/** All mail from one address. */
export const DmarcReportSource = object('All mail of one address.', {
  ip: string('The address that sent the messages.'),
  name: Nullable(Type.String(), 'Its name in DNS now; null: none, or not looked up.'),
  kind: literals(
    SOURCE_KINDS,
    'own: this server · aligned: another service whose mail passes · forwarder: passes by DKIM alone · service: authenticates as another domain · unknown: nothing passes.',
  ),
  messages: Messages,
  passed: count('Messages that passed DMARC.'),
  dkim_aligned: count('Messages with an aligned signature.'),
  spf_aligned: count('Messages with an aligned envelope sender.'),
  quarantined: count('Messages that receivers put into spam.'),
  rejected: count('Messages that receivers rejected.'),
  dkim_domains: array(Type.String(), 'Domains of passing signatures, at most 5.'),
  spf_domains: array(Type.String(), 'Domains that pass SPF, at most 5.'),
  status: literals(['ok', 'warning', 'failed'], 'How serious it is.'),
  verdict: string('What it means.'),
  next_step: Nullable(Type.String(), 'What to do; null: nothing.'),
})
/** Sessions that failed for one reason. */
export const TlsReportFailure = object('Sessions that failed for one reason.', {
  type: string('Result type (RFC 8460 §4.3).'),
  sessions: count('Sessions.'),
  mx_hosts: array(Type.String(), 'MX hosts, at most 10.'),
  meaning: string('What it means.'),
  next_step: string('What to do.'),
})

const Reporter = object('A reporter.', {
  submitter: string('The domain that sent the reports.'),
  organization: string('Its name, in its own words.'),
  reports: count('Reports.'),
  total: count('Messages, or sessions.'),
  failed: count('Those that failed.'),
})
const Day = object('A day.', {
  date: string('UTC day.', { examples: ['2026-11-25'] }),
  total: count('Messages, or sessions.'),
  failed: count('Those that failed.'),
})
const shared = {
  domain_id: Id,
  domain: string('Name of the domain.'),
  since: Timestamp,
  until: Timestamp,
  record: object('The DNS record that brings reports.', {
    type: kind('TXT'),
    name: string('The full name.'),
    value: string('The value to publish if there is no record yet.'),
    address: string('The address to add to `rua` of an existing record.'),
    published: boolean('Whether the last DNS check found the address.'),
  }),
  next_step: string('What to do next.'),
  reporters: array(Reporter, 'Reporters, most messages or sessions first.'),
  days: array(Day, 'Days with reports, oldest first.'),
}
export const DmarcSummary = object('Who sends as the domain, and whether it passes.', {
  object: kind('dmarc_summary'),
  ...shared,
  policy: Nullable(Type.String(), 'The policy that reporters found last; null: unknown.'),
  messages: Messages,
  passed: count('Messages that passed DMARC.'),
  sources: array(DmarcReportSource, 'Who sends as the domain, most messages first; at most 500.'),
})
export type DmarcSummary = Static<typeof DmarcSummary>

export const TlsReportSummary = object('How other servers reach the domain over TLS.', {
  object: kind('tls_summary'),
  ...shared,
  sessions: count('Sessions.'),
  failed: count('Sessions that failed.'),
  policies: arrayOfObjects('Sessions by policy.', {
    type: string('sts, tlsa, no-policy-found or unknown.'),
    sessions: count('Sessions.'),
    failed: count('Sessions that failed.'),
  }),
  failures: array(TlsReportFailure, 'Failures, most sessions first.'),
})
export type TlsReportSummary = Static<typeof TlsReportSummary>

const operation = operationsIn('Domains')
const MOST_DAYS = 90
/** The length of a period up to now, in days. */
export const lastDays = optional(
  integer('Days up to now. Default 30.', { minimum: 1, maximum: MOST_DAYS }),
  (given, parameter) => {
    const value = /^\d{1,3}$/.test(given) ? Number(given) : 0
    if (value < 1 || value > MOST_DAYS)
      throw refuse('invalid_parameter', { parameter, expected: `a number from 1 to ${MOST_DAYS}` })
    return value
  },
)

export const getDmarcSummary = operation('GET /domains/:id/reports/dmarc', {
  summary: 'Summarize DMARC reports about a domain',
  description: 'Who sends as the domain, and whether it passes. Not part of the hosted API.',
  params: byId,
  querystring: query({ days: lastDays }),
  response: { 200: DmarcSummary },
})
export const getTlsSummary = operation('GET /domains/:id/reports/tls', {
  summary: 'Summarize TLS reports about a domain',
  description: 'How other servers reach the domain over TLS. Not part of the hosted API.',
  params: byId,
  querystring: query({ days: lastDays }),
  response: { 200: TlsReportSummary },
})
/** Returns null if a reporter omitted the text. */
export const emptyToNull = (text: string | undefined): string | null =>
  text === undefined || text === '' ? null : text

/** Formats the mail from one address. @param names reverse DNS of addresses */
export const presentSource = (
  source: DmarcSource,
  names: ReadonlyMap<string, string>,
): Static<typeof DmarcReportSource> => ({
  ip: source.ip,
  name: names.get(source.ip) ?? null,
  kind: source.kind,
  messages: source.messages,
  passed: source.passed,
  dkim_aligned: source.dkimAligned,
  spf_aligned: source.spfAligned,
  quarantined: source.dispositions.quarantine,
  rejected: source.dispositions.reject,
  dkim_domains: source.dkimDomains,
  spf_domains: source.spfDomains,
  status: source.status,
  verdict: source.verdict,
  next_step: source.nextStep,
})

/** Formats the failures with one reason. */
export const presentFailure = ({
  type,
  sessions,
  mxHosts,
  meaning,
  nextStep,
}: TlsSummary['failures'][number]): Static<typeof TlsReportFailure> => ({
  type,
  sessions,
  mx_hosts: mxHosts,
  meaning,
  next_step: nextStep,
})

/** The common first fields of both summaries. */
export interface SummaryHead {
  domain: { id: string; name: string }
  since: number
  until: number
  record: { name: string; value: string; address: string; published: boolean }
  nextStep: string
  days: readonly ReportDay[]
}

const presentHead = ({ domain, since, until, record, nextStep, days }: SummaryHead) => ({
  domain_id: domain.id,
  domain: domain.name,
  since: timestamp(since),
  until: timestamp(until),
  record: { type: 'TXT' as const, ...record },
  next_step: nextStep,
  reporters: sumBy(days, ({ submitter, organization }) => `${submitter}\n${organization}`)
    .map(([first, sums]) => ({
      submitter: first.submitter,
      organization: first.organization,
      ...sums,
    }))
    .toSorted((a, b) => b.total - a.total),
  days: sumBy(days, ({ day }) => day).map(([{ day }, { total, failed }]) => ({
    date: new Date(day * 86_400_000).toISOString().slice(0, 10),
    total,
    failed,
  })),
})

const sumBy = (days: readonly ReportDay[], key: (day: ReportDay) => string | number) =>
  [...Map.groupBy(days, key).values()].map((some) => {
    const sum = (of: (day: ReportDay) => number) => some.reduce((all, one) => all + of(one), 0)
    const sums = {
      reports: sum(({ reports }) => reports),
      total: sum(({ total }) => total),
      failed: sum(({ failed }) => failed),
    }
    return [some[0]!, sums] as const
  })

/** Formats the response of GET /domains/:id/reports/dmarc. @param names reverse DNS of addresses */
export const presentDmarcSummary = (
  head: SummaryHead & { policy: string; messages: number; passed: number; sources: readonly DmarcSource[] },
  names: ReadonlyMap<string, string>,
): DmarcSummary => ({
  object: 'dmarc_summary',
  ...presentHead(head),
  policy: emptyToNull(head.policy),
  messages: head.messages,
  passed: head.passed,
  sources: head.sources.map((source) => presentSource(source, names)),
})

/** Formats the response of GET /domains/:id/reports/tls. */
export const presentTlsSummary = (head: SummaryHead & { summary: TlsSummary }): TlsReportSummary => ({
  object: 'tls_summary',
  ...presentHead(head),
  sessions: head.summary.sessions,
  failed: head.summary.failed,
  policies: head.summary.policies,
  failures: head.summary.failures.map(presentFailure),
})
