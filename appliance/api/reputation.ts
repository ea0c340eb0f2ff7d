/** The reputation of domains and sending IPs: results by day and provider, complaints, reports, changes. */
import { Type, type Static } from 'typebox'
import type { Finding as StoredFinding } from '../mail/finding.ts'
import type { ComplaintLimit, ReputationChange, ReputationCounts, ReputationDay } from '../mail/reputation.ts'
import { operationsIn } from './operation.ts'
import { byId, path, query } from './parameters.ts'
import { lastDays } from './report-summaries.ts'
import { array, arrayOfObjects, count, kind, literals, Nullable, number, object, string } from './schemas.ts'
import { Id, Timestamp } from './shared.ts'
import { Finding, presentFinding, sourceIp } from './sources.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'

const results = {
  delivered: count('Delivered.'),
  bounced: count('Bounced.'),
  deferred: count('Failed attempts that were repeated later.'),
}
const counts = { ...results, complained: count('Reported as spam.') }
const Day = string('UTC day.', { examples: ['2026-11-25'] })
const provider = {
  provider: Nullable(Type.String(), 'Id of the mailbox provider; null: all others.'),
  name: Nullable(Type.String(), 'Its name; null: all others.'),
}
const Changes = arrayOfObjects('What changed in the period, newest first.', {
  at: Timestamp,
  kind: literals(
    ['dns', 'setting', 'volume'],
    'dns: a record. setting: from the audit log. volume: far more mail than usual.',
  ),
  note: string('What changed, in English. The wording may change.'),
})
const Share = (description: string) => number(description, { minimum: 0 })
const Reports = (what: string) =>
  object(`${what} that other servers reported.`, {
    total: count(`${what} in the reports of the period.`),
    failed: count('Those that failed.'),
  })

/** GET /domains/:id/reputation. Not part of the hosted API. */
export const DomainReputation = object('How receivers treat the mail of a domain.', {
  object: kind('domain_reputation'),
  domain_id: Id,
  days: arrayOfObjects('Every day of the period, oldest first.', { date: Day, ...counts }),
  totals: object('Totals of the period.', counts),
  providers: arrayOfObjects('The last 7 days by mailbox provider, the 20 largest first.', {
    ...provider,
    ...counts,
  }),
  complaints: object('Complaints of the last 7 days at all providers.', {
    delivered: count('Delivered.'),
    complained: count('Reported as spam.'),
    rate: Share('Share of the delivered emails that were reported as spam.'),
    limits: arrayOfObjects('The providers with a limit.', {
      provider: string('Id of the mailbox provider.'),
      name: string('Its name.'),
      limit: Share('Largest share of delivered emails that it accepts.'),
      state: literals(
        ['ok', 'near', 'over'],
        'near: at least a third of the limit. Fewer than 4 complaints are always ok.',
      ),
    }),
  }),
  reports: object('DMARC and TLS reports.', { dmarc: Reports('Messages'), tls: Reports('TLS sessions') }),
  changes: Changes,
})
export type DomainReputation = Static<typeof DomainReputation>

/** GET /sources/:ip/reputation. Not part of the hosted API. */
export const SourceReputation = object('How receivers treat the mail from a sending IP, of all teams.', {
  object: kind('source_reputation'),
  ip: string('The sending IP, or `auto`.'),
  warm_up_since: Nullable(Timestamp, 'Start of the warm-up; null: not warming up.'),
  days: arrayOfObjects('Every day of the period, oldest first.', { date: Day, ...results }),
  totals: object('Totals of the period.', results),
  providers: arrayOfObjects('The period by mailbox provider, the largest first.', {
    ...provider,
    ...results,
  }),
  blocklists: array(Finding, 'Results of the last check.'),
  changes: Changes,
})
export type SourceReputation = Static<typeof SourceReputation>

const domainOperation = operationsIn('Domains')
const sourceOperation = operationsIn('Sources')

export const getDomainReputation = domainOperation('GET /domains/:id/reputation', {
  summary: 'Get the reputation of a domain',
  description:
    'Results by day and mailbox provider, complaints and the limits of providers, reports, and what changed when. Not part of the hosted API.',
  params: byId,
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
