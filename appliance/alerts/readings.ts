/** Turns what is known of a team's mail into readings for its alerts. Pure. */
import {
  ALERT_LEVELS,
  BOUNCE_LIMIT,
  type AlertLevels,
  type AlertReading,
  type AlertScope,
} from '../mail/alert.ts'
import type { Insight } from '../mail/insight.ts'
import { reasonOf } from '../mail/provider-rules.ts'
import type { Source } from '../mail/source.ts'
import { lightsOf, maySend } from '../senders/senders.ts'
import type { Domain, ReportTotal } from '../storage/storage.ts'

/** Results of deliveries. `failed` are those of `bounced` whose reply was permanent. */
export interface Results {
  delivered: number
  bounced: number
  failed: number
  deferred: number
  complained: number
}

/** How a domain stands with the rules for bulk senders of one provider. */
export interface BulkStanding {
  domain: Domain
  provider: string
  messages: number
  /** Messages a day that make a bulk sender. */
  limit: number
  broken: Insight[]
}

/** What is known of the mail of one team. */
export interface TeamFacts {
  domains: readonly Domain[]
  /** The last 24 hours and the last 7 days, by id of the domain. */
  day: ReadonlyMap<string, Results>
  week: ReadonlyMap<string, Results>
  /** The last hour, by id of the provider. */
  hour: ReadonlyMap<string, Results>
  /** The last 7 days. */
  reports: readonly ReportTotal[]
  bulk: readonly BulkStanding[]
  /** Deliveries that were attempted and still wait after hours. */
  old: number
}

/** What is the same for all teams. */
export interface Around {
  /** The smallest share of complaints that a provider accepts, and the name of that provider; null: none publishes one. */
  complaints: { limit: number; provider: string } | null
  /** Providers whose lanes are paused, so that nothing new is known of them. */
  paused: ReadonlySet<string>
  /** Returns a provider's name. */
  nameOf: (provider: string) => string
  /** When alerts open and close. */
  levels: AlertLevels
}

const percent = (share: number): string => `${Number((share * 100).toFixed(share < 0.01 ? 2 : 1))}%`
const number = (count: number): string => count.toLocaleString('en')

/** A share; 0 if there are too few results to judge. */
const shareOf = (part: number, all: number, enough: boolean): number => (enough && all > 0 ? part / all : 0)

/** Adds results. */
export function addResults(all: Iterable<Results>): Results {
  const sum = { delivered: 0, bounced: 0, failed: 0, deferred: 0, complained: 0 }
  for (const one of all) for (const name of Object.keys(sum) as (keyof Results)[]) sum[name] += one[name]
  return sum
}

type Subject = AlertReading['subject']
type Reading = Omit<AlertReading, 'scope'>

function bounceReading(
  subject: Subject,
  { delivered, bounced, failed }: Results,
  { bounces }: AlertLevels,
): Reading {
  const all = delivered + bounced
  const value = shareOf(failed, all, all >= bounces.least)
  const note = `${percent(value)} of ${number(all)} emails in the last 24 hours bounced permanently. The limit is ${percent(BOUNCE_LIMIT)}.`
  return { kind: 'bounces', subject, value, limit: BOUNCE_LIMIT, note }
}

function complaintReading(
  subject: Subject,
  { delivered, complained }: Results,
  { limit, provider }: NonNullable<Around['complaints']>,
  { complaints }: AlertLevels,
): Reading {
  const value = shareOf(complained, delivered, complained >= complaints.least)
  const note = `${percent(value)} of ${number(delivered)} emails delivered in the last 7 days were reported as spam. ${provider} accepts less than ${percent(limit)}.`
  return { kind: 'complaints', subject, value, limit, note }
}

function deferralReading(
  provider: string,
  { delivered, bounced, deferred }: Results,
  { nameOf, paused, levels }: Around,
): Reading {
  const name = nameOf(provider)
  const all = delivered + bounced + deferred
  const value = shareOf(deferred, all, all >= levels.deferrals.least)
  return {
    kind: 'deferrals',
    subject: { type: 'provider', id: provider, name },
    value: paused.has(provider) ? null : value,
    limit: null,
    note: `${percent(value)} of the ${number(all)} results at ${name} in the last hour were deferrals.`,
  }
}

const RECORD_WORDS: Readonly<Record<string, string>> = { failed: 'invalid', pending: 'missing' }

/** A domain that lost its verification keeps its alert, but one that never had it gets none. */
function dnsReading(domain: Domain, delivered: number): Reading {
  const lights = lightsOf(domain, { sources: [], assignments: [] }).filter(({ name }) =>
    ['SPF', 'DKIM', 'DMARC'].includes(name),
  )
  // DMARC is the owner's choice, so that a missing record is none of ours.
  const bad = lights.filter(
    ({ name, status }) => status === 'failed' || (status === 'pending' && name !== 'DMARC'),
  )
  const names = bad.map(({ name, status }) => `${name} (${RECORD_WORDS[status]})`)
  return {
    kind: 'dns',
    subject: { type: 'domain', id: domain.id, name: domain.name },
    value: dnsValue(domain, bad.length > 0, delivered),
    limit: null,
    note:
      names.length > 0
        ? `Records with problems: ${names.join(', ')}.`
        : 'The last check found problems. The next check will confirm or clear them.',
  }
}

function dnsValue(
  { sending, status, suspect, checks }: Domain,
  bad: boolean,
  delivered: number,
): number | null {
  if (!sending) return 0
  const below = (ALERT_LEVELS.dns.opens + ALERT_LEVELS.dns.closes) / 2
  if (!maySend(status)) return status === 'failed' && delivered > 0 ? 1 : below
  if (bad || suspect !== null || status === 'partially_failed') return 1
  return checks.some((check) => check.status === 'temporary_failure') ? null : 0
}

function reportReading(
  kind: 'dmarc' | 'tls',
  { id, name }: Domain,
  reports: readonly ReportTotal[],
  levels: AlertLevels,
): Reading {
  const found = reports.find((one) => one.domainId === id && one.kind === kind)
  const { total, failed } = found ?? { total: 0, failed: 0 }
  const value = shareOf(failed, total, total >= levels[kind].least)
  const what = kind === 'dmarc' ? 'messages in DMARC reports' : 'sessions in TLS reports'
  return {
    kind,
    subject: { type: 'domain', id, name },
    value,
    limit: null,
    note: `${percent(value)} of ${number(total)} ${what} of the last 7 days failed.`,
  }
}

function bulkReading(
  { domain, provider, messages, limit, broken }: BulkStanding,
  { nameOf }: Around,
): Reading {
  return {
    kind: 'bulk',
    subject: { type: 'domain', id: domain.id, name: domain.name },
    value: broken.length > 0 ? messages : 0,
    limit,
    note: [
      `${number(messages)} messages to ${nameOf(provider)} in the last 24 hours. From ${number(limit)} on, its rules for bulk mail apply.`,
      ...broken.map(reasonOf),
    ].join(' '),
  }
}

const queueReading = (old: number): Reading => ({
  kind: 'queue',
  subject: { type: 'queue', id: '', name: 'Queue' },
  value: old,
  limit: null,
  note: `${number(old)} deliveries were attempted and are still queued after more than 4 hours.`,
})

const scoped = (scope: AlertScope, readings: readonly Reading[]): AlertReading[] =>
  readings.map((reading) => ({ scope, ...reading }))

const NONE = addResults([])

/** Returns the readings of a team. */
export function teamReadings(facts: TeamFacts, around: Around): AlertReading[] {
  const { domains, day, week, hour, reports, bulk, old } = facts
  const { levels } = around
  return scoped('team', [
    ...domains.flatMap((domain) => {
      const subject = { type: 'domain' as const, id: domain.id, name: domain.name }
      const seven = week.get(domain.id) ?? NONE
      return [
        bounceReading(subject, day.get(domain.id) ?? NONE, levels),
        ...(around.complaints ? [complaintReading(subject, seven, around.complaints, levels)] : []),
        dnsReading(domain, seven.delivered),
        reportReading('dmarc', domain, reports, levels),
        reportReading('tls', domain, reports, levels),
      ]
    }),
    ...bulk.map((one) => bulkReading(one, around)),
    ...[...hour].map(([provider, results]) => deferralReading(provider, results, around)),
    queueReading(old),
  ])
}

/** Returns the readings of sending IPs. One that was never checked is unknown. */
function blocklistReading({ ip, health }: Source): Reading {
  const checks = health?.findings.filter(({ id }) => id.startsWith('blocklist')) ?? []
  const listed = checks.filter(({ status }) => status === 'failed')
  const unknown = checks.every(({ status }) => status === 'skipped')
  return {
    kind: 'blocklist',
    subject: { type: 'ip', id: ip, name: ip },
    value: listed.length > 0 ? listed.length : unknown ? null : 0,
    limit: null,
    note: listed.map(({ found }) => found).join(' ') || 'It is on no blocklist.',
  }
}

/**
 * Returns the readings of the whole server. With a single team, its own alerts already say the rest.
 * @param teams what is known of each team
 */
export function serverReadings(
  sources: readonly Source[],
  teams: readonly TeamFacts[],
  around: Around,
): AlertReading[] {
  const listed = sources.map(blocklistReading)
  if (teams.length < 2) return scoped('server', listed)
  const subject = { type: 'mail' as const, id: '', name: 'all mail' }
  const together = (of: (team: TeamFacts) => ReadonlyMap<string, Results>): Results =>
    addResults(teams.flatMap((team) => [...of(team).values()]))
  const hours = Map.groupBy(
    teams.flatMap(({ hour }) => [...hour]),
    ([provider]) => provider,
  )
  return scoped('server', [
    ...listed,
    bounceReading(
      subject,
      together(({ day }) => day),
      around.levels,
    ),
    ...(around.complaints
      ? [
          complaintReading(
            subject,
            together(({ week }) => week),
            around.complaints,
            around.levels,
          ),
        ]
      : []),
    ...[...hours].map(([provider, some]) =>
      deferralReading(provider, addResults(some.map(([, results]) => results)), around),
    ),
    queueReading(teams.reduce((sum, { old }) => sum + old, 0)),
  ])
}
