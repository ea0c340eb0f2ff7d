/** Computes the readings for a team's alerts from data about its mail. Pure. */
import {
  ALERT_LEVELS,
  BOUNCE_LIMIT,
  type AlertLevels,
  type AlertReading,
  type AlertScope,
} from '../mail/alert.ts'
import { groupNodes, type RegionNodes } from '../mail/failover.ts'
import type { Insight } from '../mail/insight.ts'
import type { NodeView } from '../mail/node.ts'
import { formatProblem } from '../mail/provider-rules.ts'
import { listPoolsOfRegion, NO_REGIONS, type RegionMap } from '../mail/region.ts'
import type { Source } from '../mail/source.ts'
import { computeStatusLights, maySend } from '../senders/senders.ts'
import type { Domain, ReportTotal } from '../storage/storage.ts'

/** Numbers of deliveries by result. `failed` counts the part of `bounced` with a permanent reply. */
export interface Results {
  delivered: number
  bounced: number
  failed: number
  deferred: number
  complained: number
}

/** How a domain complies with one provider's rules for bulk senders. */
export interface BulkSenderCompliance {
  domain: Domain
  provider: string
  messages: number
  /** Number of messages per day that makes a domain a bulk sender. */
  limit: number
  broken: Insight[]
}

/** Data about the mail of one team. */
export interface TeamFacts {
  domains: readonly Domain[]
  /** Results of the last 24 hours and the last 7 days, by domain ID. */
  day: ReadonlyMap<string, Results>
  week: ReadonlyMap<string, Results>
  /** Results of the last hour, by provider ID. */
  hour: ReadonlyMap<string, Results>
  /** Totals of the reports of the last 7 days. */
  reports: readonly ReportTotal[]
  bulk: readonly BulkSenderCompliance[]
  /** Number of deliveries that were attempted and are still queued after 4 hours. */
  old: number
}

/** Data that is the same for all teams. */
export interface SharedFacts {
  /**
   * The lowest share of complaints that a provider tolerates, and that provider's name; null if none publishes a limit.
   */
  complaints: { limit: number; provider: string } | null
  /** Providers whose lanes are paused, so there are no new results for them. */
  paused: ReadonlySet<string>
  /** Returns a provider's name. */
  nameOf: (provider: string) => string
  /** Levels at which alerts open and close. */
  levels: AlertLevels
}

const percent = (share: number): string => `${Number((share * 100).toFixed(share < 0.01 ? 2 : 1))}%`
const number = (count: number): string => count.toLocaleString('en')

/** Returns a share, or 0 if there are too few results. */
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
  { limit, provider }: NonNullable<SharedFacts['complaints']>,
  { complaints }: AlertLevels,
): Reading {
  const value = shareOf(complained, delivered, complained >= complaints.least)
  const note = `${percent(value)} of ${number(delivered)} emails delivered in the last 7 days were reported as spam. ${provider} accepts less than ${percent(limit)}.`
  return { kind: 'complaints', subject, value, limit, note }
}

function deferralReading(
  provider: string,
  { delivered, bounced, deferred }: Results,
  { nameOf, paused, levels }: SharedFacts,
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

/** A domain that lost its verification keeps its alert, but a domain that was never verified gets none. */
function dnsReading(domain: Domain, delivered: number): Reading {
  const lights = computeStatusLights(domain, { sources: [], assignments: [], regions: NO_REGIONS }).filter(
    ({ name }) => ['SPF', 'DKIM', 'DMARC'].includes(name),
  )
  // DMARC is the owner's choice, so a missing record isn't a problem.
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
  { domain, provider, messages, limit, broken }: BulkSenderCompliance,
  { nameOf }: SharedFacts,
): Reading {
  return {
    kind: 'bulk',
    subject: { type: 'domain', id: domain.id, name: domain.name },
    value: broken.length > 0 ? messages : 0,
    limit,
    note: [
      `${number(messages)} messages to ${nameOf(provider)} in the last 24 hours. From ${number(limit)} on, its rules for bulk mail apply.`,
      ...broken.map(formatProblem),
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
export function teamReadings(facts: TeamFacts, around: SharedFacts): AlertReading[] {
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

/** Returns the reading of a sending IP. An IP that was never checked is unknown. */
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
 * Returns the readings of the whole server. With a single team, its own alerts already cover the rest.
 * @param teams data about each team
 */
export function serverReadings(
  sources: readonly Source[],
  teams: readonly TeamFacts[],
  around: SharedFacts,
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

/** Returns a reading for each region that has nodes and pools: 1 if all its nodes are stopped or lost. */
export function regionReadings(nodes: readonly NodeView[], regions: RegionMap): AlertReading[] {
  return groupNodes(nodes)
    .filter(({ region }) => listPoolsOfRegion(regions, region).length > 0)
    .map((group) => ({
      scope: 'server',
      kind: 'region',
      subject: { type: 'region', id: group.region, name: group.region },
      value: group.lostAt === null ? 0 : 1,
      limit: null,
      note: group.lostAt === null ? 'At least one node is alive.' : describeLoss(group, regions),
    }))
}

function describeLoss({ region, gone, failover }: RegionNodes, { failovers }: RegionMap): string {
  const lost = `All nodes of ${region} are stopped or lost: ${gone.join(', ')}.`
  const active = failovers.find((one) => one.region === region)
  if (active) return `${lost} Its mail leaves from ${active.target}.`
  if (failover === null) return `${lost} Its mail waits, because fail-over is not configured.`
  const minutes = Number((failover.afterMs / 60_000).toFixed(1))
  return `${lost} Its mail waits. After ${minutes} minutes, it leaves from ${failover.region}, if a node and a pool are there.`
}
