/**
 * Reads the data that alerts are based on. Does no DNS lookups: domains and IPs are assessed by their last background
 * check.
 */
import type { Clock } from '../clock/clock.ts'
import { sumInChunks } from '../events/metrics.ts'
import { ALERT_LEVELS, type AlertLevels } from '../mail/alert.ts'
import type { ProviderRules } from '../mail/provider-rules.ts'
import { AGE_BANDS } from '../mail/queue.ts'
import type { ProviderRuleChecker } from '../senders/senders.ts'
import { QUARTER_HOUR_MS, startOfQuarterHour, type Domain, type Storage } from '../storage/storage.ts'
import {
  addResults,
  type SharedFacts,
  type BulkSenderCompliance,
  type Results,
  type TeamFacts,
} from './readings.ts'

export interface MeasureDeps {
  storage: Pick<
    Storage,
    | 'listDomains'
    | 'metricsSummed'
    | 'sumMetrics'
    | 'breakDownMetrics'
    | 'domainReportTotals'
    | 'surveyQueue'
    | 'listLanes'
  >
  clock: Pick<Clock, 'now'>
  gate: Pick<ProviderRuleChecker, 'rules' | 'standing'>
  /** Returns the providers that have names. Called each time, because the table can be replaced. */
  providers: () => readonly { id: string; name: string }[]
  /** Levels at which alerts open and close. Default: `ALERT_LEVELS`. */
  levels?: AlertLevels | undefined
}

const HOUR = 3_600_000
const DAY = 24 * HOUR
const WEEK = 7 * DAY
/** Maximum number of providers measured for a team's last hour; the smallest are left out. */
const MOST_PROVIDERS = 100
/** Index of the first age band that counts as old: more than 4 hours. */
const OLD_BAND = AGE_BANDS.indexOf(4 * HOUR) + 1

/** Fields of `Results` that each event counter adds to. */
const FIELDS: Readonly<Record<string, (keyof Results)[]>> = {
  delivered: ['delivered'],
  complained: ['complained'],
  delivery_delayed: ['deferred'],
  bounced_permanent: ['bounced', 'failed'],
  bounced_transient: ['bounced'],
  bounced_undetermined: ['bounced'],
}

function resultsBy(sums: readonly { key: string; counter: string; n: number }[]): Map<string, Results> {
  const by = new Map<string, Results>()
  for (const { key, counter, n } of sums) {
    let results = by.get(key)
    if (!results) by.set(key, (results = addResults([])))
    for (const field of FIELDS[counter] ?? []) results[field] += n
  }
  return by
}

/** Reads the data that is the same for all teams. */
export async function loadSharedFacts(deps: MeasureDeps): Promise<SharedFacts> {
  const { storage, clock, gate, providers, levels = ALERT_LEVELS } = deps
  const now = clock.now()
  const rules = gate.rules()
  const lanes = await storage.listLanes({}, now)
  const names = new Map(providers().map(({ id, name }) => [id, name]))
  return {
    complaints: complaintLimit(rules),
    paused: new Set(lanes.filter(({ pausedUntil }) => (pausedUntil ?? 0) > now).map((lane) => lane.provider)),
    // Mail to a domain that hasn't been looked up yet is counted under `?` and the domain's name.
    nameOf: (id) => names.get(id) ?? id.replace(/^\?/, ''),
    levels,
  }
}

function complaintLimit({ rules, providers }: ProviderRules): SharedFacts['complaints'] {
  const limits = rules.flatMap(({ limit, provider }) => (limit === null ? [] : [{ limit, provider }]))
  const [least] = limits.toSorted((a, b) => a.limit - b.limit)
  if (!least) return null
  const name = providers.find(({ id }) => id === least.provider)?.name ?? least.provider
  return { limit: least.limit, provider: name }
}

/**
 * Counts each team's deliveries that were attempted and are still queued after 4 hours. Reads the whole queue in
 * chunks.
 */
export async function countOldDeliveries({ storage, clock }: MeasureDeps): Promise<Map<string, number>> {
  const old = new Map<string, number>()
  let after: string | undefined
  do {
    const { groups, next } = await storage.surveyQueue({ after }, clock.now())
    for (const { teamId, state, band, attempted } of groups)
      if (state === 'waiting' && band >= OLD_BAND) old.set(teamId, (old.get(teamId) ?? 0) + attempted)
    after = next ?? undefined
  } while (after !== undefined)
  return old
}

/** Reads the data about a team's mail. @param old number of the team's old deliveries */
export async function loadTeamFacts(deps: MeasureDeps, teamId: string, old: number): Promise<TeamFacts> {
  const { storage, clock } = deps
  const now = clock.now()
  const domains = await storage.listDomains({ teamId }, now)
  const end = startOfQuarterHour(now) + QUARTER_HOUR_MS
  const day = await storage.sumMetrics({ teamId, ranges: [{ start: end - DAY, end }] }, now)
  const week = await sumInChunks(storage, { teamId, ranges: [{ start: end - WEEK, end }] }, now)
  const range = { start: end - QUARTER_HOUR_MS - HOUR, end }
  const counters = Object.keys(FIELDS)
  const hour = await storage.breakDownMetrics(
    { teamId, range, by: 'provider', counters, most: MOST_PROVIDERS },
    now,
  )
  const domainIds = domains.map(({ id }) => id)
  const perDay = resultsBy(day.map(({ domainId, ...one }) => ({ key: domainId, ...one })))
  return {
    domains,
    day: perDay,
    week: resultsBy(week.map(({ domainId, ...one }) => ({ key: domainId, ...one }))),
    hour: resultsBy(hour.flatMap(({ value, ...one }) => (value === null ? [] : [{ key: value, ...one }]))),
    reports:
      domainIds.length === 0
        ? []
        : await storage.domainReportTotals({ teamId, domainIds, since: now - WEEK }, now),
    bulk: await readBulk(deps, domains, perDay),
    old,
  }
}

/** Assesses domains that may soon count as bulk senders, each for the provider whose limit it is closest to. */
async function readBulk(
  { gate, levels = ALERT_LEVELS }: MeasureDeps,
  domains: readonly Domain[],
  day: ReadonlyMap<string, Results>,
): Promise<BulkSenderCompliance[]> {
  const nearly = levels.bulk.closes
  const least = Math.min(...gate.rules().providers.map(({ bulk }) => bulk)) * nearly
  const found: BulkSenderCompliance[] = []
  for (const domain of domains) {
    const { delivered, bounced } = day.get(domain.id) ?? addResults([])
    if (delivered + bounced < least) continue
    const { volumes, insights } = await gate.standing({ domain, nearly })
    const [nearest] = volumes
      .filter(({ bulk }) => bulk)
      .toSorted((a, b) => b.messages / b.provider.bulk - a.messages / a.provider.bulk)
    if (!nearest) continue
    const { provider, messages } = nearest
    // Complaints have their own alerts.
    const broken = insights.filter(({ id, verdict }) => verdict !== 'pass' && id !== 'rule-complaints')
    found.push({ domain, provider: provider.id, messages, limit: provider.bulk, broken })
  }
  return found
}
