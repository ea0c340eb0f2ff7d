/** The reputation of domains and sending IPs: results by day and provider, complaints, reports, changes. */
import { Type, type Static } from 'typebox'
import type { Finding as StoredFinding } from '../mail/finding.ts'
import type { ComplaintLimit, ReputationChange, ReputationCounts, ReputationDay } from '../mail/reputation.ts'
import { operationsIn } from './operation.ts'
import { path, pathId, query } from './parameters.ts'
import { Count, lastDays } from './report-summaries.ts'
import { described, Id, kind, literals, Nullable, Timestamp } from './shared.ts'
import { Finding, presentFinding, sourceIp } from './sources.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'

const results = {
  delivered: Count('Delivered.'),
  bounced: Count('Bounced.'),
  deferred: Count('Failed attempts that were repeated later.'),
}
const counts = { ...results, complained: Count('Reported as spam.') }
const Day = Type.String({ description: 'UTC day.', examples: ['2026-11-25'] })
const provider = {
  provider: Nullable(Type.String(), described('Id of the mailbox provider; null: all others.')),
  name: Nullable(Type.String(), described('Its name; null: all others.')),
}
const Changes = Type.Array(
  Type.Object({
    at: Timestamp,
    kind: literals(
      ['dns', 'setting', 'volume'],
      described('dns: a record. setting: from the audit log. volume: far more mail than usual.'),
    ),
    note: Type.String(described('What changed, in English. The wording may change.')),
  }),
  described('What changed in the period, newest first.'),
)
const Share = (description: string) => Type.Number({ minimum: 0, description })
const Reports = (what: string) =>
  Type.Object(
    { total: Count(`${what} in the reports of the period.`), failed: Count('Those that failed.') },
    described(`${what} that other servers reported.`),
  )

/** GET /domains/:id/reputation. Not part of the hosted API. */
export const DomainReputation = Type.Object(
  {
    object: kind('domain_reputation'),
    domain_id: Id,
    days: Type.Array(
      Type.Object({ date: Day, ...counts }),
      described('Every day of the period, oldest first.'),
    ),
    totals: Type.Object(counts, described('Totals of the period.')),
    providers: Type.Array(
      Type.Object({ ...provider, ...counts }),
      described('The last 7 days by mailbox provider, the 20 largest first.'),
    ),
    complaints: Type.Object(
      {
        delivered: Count('Delivered.'),
        complained: Count('Reported as spam.'),
        rate: Share('Share of the delivered emails that were reported as spam.'),
        limits: Type.Array(
          Type.Object({
            provider: Type.String(described('Id of the mailbox provider.')),
            name: Type.String(described('Its name.')),
            limit: Share('Largest share of delivered emails that it accepts.'),
            state: literals(
              ['ok', 'near', 'over'],
              described('near: at least a third of the limit. Fewer than 4 complaints are always ok.'),
            ),
          }),
          described('The providers with a limit.'),
        ),
      },
      described('Complaints of the last 7 days at all providers.'),
    ),
    reports: Type.Object(
      { dmarc: Reports('Messages'), tls: Reports('TLS sessions') },
      described('DMARC and TLS reports.'),
    ),
    changes: Changes,
  },
  described('How receivers treat the mail of a domain.'),
)
export type DomainReputation = Static<typeof DomainReputation>

/** GET /sources/:ip/reputation. Not part of the hosted API. */
export const SourceReputation = Type.Object(
  {
    object: kind('source_reputation'),
    ip: Type.String(described('The sending IP, or `auto`.')),
    warm_up_since: Nullable(Timestamp, described('Start of the warm-up; null: not warming up.')),
    days: Type.Array(
      Type.Object({ date: Day, ...results }),
      described('Every day of the period, oldest first.'),
    ),
    totals: Type.Object(results, described('Totals of the period.')),
    providers: Type.Array(
      Type.Object({ ...provider, ...results }),
      described('The period by mailbox provider, the largest first.'),
    ),
    blocklists: Type.Array(Finding, described('Results of the last check.')),
    changes: Changes,
  },
  described('How receivers treat the mail from a sending IP, of all teams.'),
)
export type SourceReputation = Static<typeof SourceReputation>

const domainOperation = operationsIn('Domains')
const sourceOperation = operationsIn('Sources')

export const getDomainReputation = domainOperation('GET /domains/:id/reputation', {
  summary: 'Get the reputation of a domain',
  description:
    'Results by day and mailbox provider, complaints and the limits of providers, reports, and what changed when. Not part of the hosted API.',
  params: path({ id: pathId }),
  querystring: query({ days: lastDays }),
  response: { 200: DomainReputation },
})

export const getSourceReputation = sourceOperation('GET /sources/:ip/reputation', {
  summary: 'Get the reputation of a sending IP',
  description:
    'Results of all teams by day and mailbox provider, blocklists, and what changed when. Complaints are counted by domain. Only for operators. Not part of the hosted API.',
  params: path({ ip: sourceIp }),
  querystring: query({ days: lastDays }),
  response: { 200: SourceReputation },
})

type ChangesShown = Static<typeof Changes>
const presentChanges = (changes: readonly ReputationChange[]): ChangesShown =>
  changes.map(({ at, kind: of, note }) => ({ at: timestamp(at), kind: of, note }))

/** Formats the response of GET /domains/:id/reputation. @param names display names of providers by id */
export function presentDomainReputation(
  seen: {
    domain: { id: string }
    days: ReputationDay[]
    totals: ReputationCounts
    providers: (ReputationCounts & { provider: string | null })[]
    complaints: { delivered: number; complained: number; rate: number; limits: ComplaintLimit[] }
    reports: DomainReputation['reports']
    changes: ReputationChange[]
  },
  names: ReadonlyMap<string, string>,
): DomainReputation {
  const { domain, days, totals, providers, complaints, reports, changes } = seen
  // Mail to a domain whose exchangers haven't been looked up yet is counted under `?` and the domain's name.
  const nameOf = (id: string): string => names.get(id) ?? id.replace(/^\?/, '')
  return {
    object: 'domain_reputation',
    domain_id: domain.id,
    days,
    totals,
    providers: providers.map(({ provider, ...counted }) => ({
      provider,
      name: provider === null ? null : nameOf(provider),
      ...counted,
    })),
    complaints,
    reports,
    changes: presentChanges(changes),
  }
}

const resultsOf = ({
  delivered,
  bounced,
  deferred,
}: ReputationCounts): Omit<ReputationCounts, 'complained'> => ({
  delivered,
  bounced,
  deferred,
})

/** Formats the response of GET /sources/:ip/reputation. @param names display names of providers by id */
export function presentSourceReputation(
  seen: {
    source: { ip: string; warmUpSince: number | null }
    days: ReputationDay[]
    totals: ReputationCounts
    providers: (ReputationCounts & { provider: string | null })[]
    blocklists: StoredFinding[]
    changes: ReputationChange[]
  },
  names: ReadonlyMap<string, string>,
): SourceReputation {
  const { source, days, totals, providers, blocklists, changes } = seen
  return {
    object: 'source_reputation',
    ip: source.ip,
    warm_up_since: timestampOrNull(source.warmUpSince),
    days: days.map((day) => ({ date: day.date, ...resultsOf(day) })),
    totals: resultsOf(totals),
    providers: providers.map((one) => ({
      provider: one.provider,
      name: one.provider === null ? null : (names.get(one.provider) ?? one.provider),
      ...resultsOf(one),
    })),
    blocklists: blocklists.map(presentFinding),
    changes: presentChanges(changes),
  }
}
