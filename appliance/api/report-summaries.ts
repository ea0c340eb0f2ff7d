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
import { optional, path, pathId, query } from './parameters.ts'
import { Id, kind, literals, Nullable, Timestamp } from './shared.ts'
import { timestamp } from './timestamp.ts'

export const Count = (description: string) => Type.Integer({ minimum: 0, description })
const Messages = Count('Messages.')

/** All mail from one address. */
export const DmarcReportSource = Type.Object(
  {
    ip: Type.String({ description: 'The address that sent the messages.' }),
    name: Nullable(Type.String(), { description: 'Its name in DNS now; null: none, or not looked up.' }),
    kind: literals(SOURCE_KINDS, {
      description:
        'own: this server · aligned: another service whose mail passes · forwarder: passes by DKIM alone · service: authenticates as another domain · unknown: nothing passes.',
    }),
    messages: Messages,
    passed: Count('Messages that passed DMARC.'),
    dkim_aligned: Count('Messages with an aligned signature.'),
    spf_aligned: Count('Messages with an aligned envelope sender.'),
    quarantined: Count('Messages that receivers put into spam.'),
    rejected: Count('Messages that receivers rejected.'),
    dkim_domains: Type.Array(Type.String(), { description: 'Domains of passing signatures, at most 5.' }),
    spf_domains: Type.Array(Type.String(), { description: 'Domains that pass SPF, at most 5.' }),
    status: literals(['ok', 'warning', 'failed'], { description: 'How serious it is.' }),
    verdict: Type.String({ description: 'What it means.' }),
    next_step: Nullable(Type.String(), { description: 'What to do; null: nothing.' }),
  },
  { description: 'All mail of one address.' },
)
/** Sessions that failed for one reason. */
export const TlsReportFailure = Type.Object(
  {
    type: Type.String({ description: 'Result type (RFC 8460 §4.3).' }),
    sessions: Count('Sessions.'),
    mx_hosts: Type.Array(Type.String(), { description: 'MX hosts, at most 10.' }),
    meaning: Type.String({ description: 'What it means.' }),
    next_step: Type.String({ description: 'What to do.' }),
  },
  { description: 'Sessions that failed for one reason.' },
)

const Reporter = Type.Object(
  {
    submitter: Type.String({ description: 'The domain that sent the reports.' }),
    organization: Type.String({ description: 'Its name, in its own words.' }),
    reports: Count('Reports.'),
    total: Count('Messages, or sessions.'),
    failed: Count('Those that failed.'),
  },
  { description: 'A reporter.' },
)
const Day = Type.Object(
  {
    date: Type.String({ description: 'UTC day.', examples: ['2026-11-25'] }),
    total: Count('Messages, or sessions.'),
    failed: Count('Those that failed.'),
  },
  { description: 'A day.' },
)
const shared = {
  domain_id: Id,
  domain: Type.String({ description: 'Name of the domain.' }),
  since: Timestamp,
  until: Timestamp,
  record: Type.Object(
    {
      type: kind('TXT'),
      name: Type.String({ description: 'The full name.' }),
      value: Type.String({ description: 'The value to publish if there is no record yet.' }),
      address: Type.String({ description: 'The address to add to `rua` of an existing record.' }),
      published: Type.Boolean({ description: 'Whether the last DNS check found the address.' }),
    },
    { description: 'The DNS record that brings reports.' },
  ),
  next_step: Type.String({ description: 'What to do next.' }),
  reporters: Type.Array(Reporter, { description: 'Reporters, most messages or sessions first.' }),
  days: Type.Array(Day, { description: 'Days with reports, oldest first.' }),
}
/** GET /domains/:id/reports/dmarc */
export const DmarcSummary = Type.Object(
  {
    object: kind('dmarc_summary'),
    ...shared,
    policy: Nullable(Type.String(), { description: 'The policy that reporters found last; null: unknown.' }),
    messages: Messages,
    passed: Count('Messages that passed DMARC.'),
    sources: Type.Array(DmarcReportSource, {
      description: 'Who sends as the domain, most messages first; at most 500.',
    }),
  },
  { description: 'Who sends as the domain, and whether it passes.' },
)
export type DmarcSummary = Static<typeof DmarcSummary>

/** GET /domains/:id/reports/tls */
export const TlsReportSummary = Type.Object(
  {
    object: kind('tls_summary'),
    ...shared,
    sessions: Count('Sessions.'),
    failed: Count('Sessions that failed.'),
    policies: Type.Array(
      Type.Object({
        type: Type.String({ description: 'sts, tlsa, no-policy-found or unknown.' }),
        sessions: Count('Sessions.'),
        failed: Count('Sessions that failed.'),
      }),
      { description: 'Sessions by policy.' },
    ),
    failures: Type.Array(TlsReportFailure, { description: 'Failures, most sessions first.' }),
  },
  { description: 'How other servers reach the domain over TLS.' },
)
export type TlsReportSummary = Static<typeof TlsReportSummary>

const operation = operationsIn('Domains')
const params = path({ id: pathId })
const MOST_DAYS = 90
/** The length of a period up to now, in days. */
export const lastDays = optional(
  Type.Integer({ minimum: 1, maximum: MOST_DAYS, description: 'Days up to now. Default 30.' }),
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
  params,
  querystring: query({ days: lastDays }),
  response: { 200: DmarcSummary },
})
export const getTlsSummary = operation('GET /domains/:id/reports/tls', {
  summary: 'Summarize TLS reports about a domain',
  description: 'How other servers reach the domain over TLS. Not part of the hosted API.',
  params,
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
