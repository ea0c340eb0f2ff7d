/** Metrics broken down by one dimension: GET /emails/metrics/breakdown. Uses only the roll-ups. */
import { BOUNCE_CATEGORIES } from '../mail/bounce.ts'
import {
  getBounceCategoryCounter,
  EVENT_COUNTERS,
  RECIPIENT_COUNTERS,
  type EventCounter,
} from '../mail/event.ts'
import { refuse } from '../mail/refusals.ts'
import { BREAKDOWNS } from '../api/metrics.ts'
import type { MetricsQuery, Storage } from '../storage/storage.ts'
import { breakDownInChunks, limitToRegion, sumInChunks } from './metrics-pieces.ts'
import { listPeriods, type Granularity, type Period } from './metrics-periods.ts'
import { catchUpTagCounts, type TagStorage } from './metrics-tags.ts'
import { parseMetricsQuery, type MetricsRequest } from './metrics-query.ts'

export type Breakdown = (typeof BREAKDOWNS)[number]

/** Metrics that can be broken down. The email search accepts the same names, except the last two. */
export type BreakdownMetric = EventCounter | 'unique_opened' | 'unique_clicked'
const METRICS: readonly BreakdownMetric[] = [...EVENT_COUNTERS, 'unique_opened', 'unique_clicked']

/** Maximum domains, providers or tags shown separately: more than fit on a screen, few enough for a chart. */
const MOST_VALUES = 50
/** Maximum periods in a response: ten years of days, or half a year of hours. */
const MOST_PERIODS = 4000
const MOST_PROVIDERS = 100
/** Maximum length of a provider id, which may be a domain name (RFC 1035 §2.3.4). */
const LONGEST_PROVIDER = 255

/** A validated request. */
export interface BreakdownRequest extends Pick<
  MetricsRequest,
  'range' | 'zone' | 'granularity' | 'domainIds' | 'region'
> {
  by: Breakdown
  /** Provider IDs; undefined for all. */
  providers: string[] | undefined
}

/**
 * A row; `value` is the start of a period in Unix milliseconds, an id, a tag as in the search, a category, or null for
 * all others.
 */
export interface BreakdownRow {
  value: string | number | null
  name: string | null
  counts: Record<string, number>
}

export interface BreakdownReport {
  by: Breakdown
  range: Period
  granularity: Granularity
  metrics: readonly BreakdownMetric[]
  totals: Record<string, number>
  rows: BreakdownRow[]
  /** In a breakdown by tag, the time of the first event that isn't counted yet; null when all events are counted. */
  countedUntil: number | null
}

type Deps = TagStorage &
  Pick<
    Storage,
    | 'metricsSummed'
    | 'sumMetrics'
    | 'breakDownMetrics'
    | 'sumBroadcastMetrics'
    | 'broadcastNames'
    | 'listDomains'
  >

/** The counters of a row, by name. */
interface Counters {
  value: BreakdownRow['value']
  counters: Map<string, number>
}

const invalid = (parameter: string, expected: string) => refuse('invalid_parameter', { parameter, expected })

/**
 * Parses the query. Range, time zone, granularity and domains are as for GET /emails/metrics.
 * @throws Refusal naming the parameter and what it accepts
 */
export function parseBreakdownQuery(query: unknown, now: number): BreakdownRequest {
  const { by = 'domain', provider, ...given } = query as Record<string, unknown>
  const { start_date, end_date, timezone, granularity: length, domain_id, region } = given
  const known = { start_date, end_date, timezone, granularity: length, domain_id, region }
  const { range, zone, granularity, domainIds, region: within } = parseMetricsQuery(known, now)
  const word = typeof by === 'string' ? by.toLowerCase() : by
  const found = BREAKDOWNS.find((one) => one === word)
  if (found === undefined) throw invalid('by', `one of ${BREAKDOWNS.join(', ')}`)
  const providers = readProviders(provider)
  if (found === 'broadcast' && providers)
    throw invalid('provider', 'no provider together with `by=broadcast`')
  return { range, zone, granularity, domainIds, region: within, by: found, providers }
}

function readProviders(given: unknown): string[] | undefined {
  if (given === undefined || given === '') return undefined
  const ids = [given].flat().flatMap((one) => (typeof one === 'string' ? one.split(',') : ['']))
  if (ids.length > MOST_PROVIDERS || ids.some((id) => id === '' || id.length > LONGEST_PROVIDER))
    throw invalid('provider', `up to ${MOST_PROVIDERS} comma-separated provider IDs`)
  return [...new Set(ids)]
}

/**
 * Computes the breakdown from the roll-ups; the cost depends on the length of the range.
 * @param providerNames display names by provider id
 * @throws Refusal when there would be too many periods
 */
export async function computeBreakdown(
  storage: Deps,
  teamId: string,
  given: BreakdownRequest,
  providerNames: ReadonlyMap<string, string>,
  now: number,
): Promise<BreakdownReport> {
  const request = await limitToRegion(storage, teamId, given, now)
  const { by, range, granularity } = request
  const metrics = metricsOf(request)
  const countedUntil = by === 'tag' ? await catchUpTagCounts(storage, now) : null
  const found = await countersOf(storage, teamId, request, metrics, now)
  const names = by === 'provider' ? providerNames : await namesOf(storage, teamId, by, found, now)
  const rows = found.map(({ value, counters }) => ({
    value,
    name: value === null ? null : (names.get(String(value)) ?? null),
    counts: Object.fromEntries(metrics.map((metric) => [metric, sumOf(metric, counters)])),
  }))
  const all = by === 'tag' ? await totalOf(storage, teamId, request, now) : sumsOf(found)
  const totals = Object.fromEntries(metrics.map((metric) => [metric, sumOf(metric, all)]))
  const size = ({ counts }: BreakdownRow) => Object.values(counts).reduce((sum, n) => sum + n, 0)
  const told = by === 'period' ? rows : rows.filter((row) => size(row) > 0).sort((a, b) => order(a, b, size))
  return { by, range, granularity, metrics, totals, rows: told, countedUntil }
}

/** Adds up all rows. */
function sumsOf(rows: readonly Counters[]): Map<string, number> {
  const sums = new Map<string, number>()
  for (const { counters } of rows)
    for (const [counter, n] of counters) sums.set(counter, (sums.get(counter) ?? 0) + n)
  return sums
}

/** Sums over all mail, because an email may have no tag or several. */
async function totalOf(
  storage: Deps,
  teamId: string,
  { range, domainIds, providers }: BreakdownRequest,
  now: number,
): Promise<Map<string, number>> {
  if (range.start >= range.end) return new Map()
  const query = { teamId, domainIds, providers, ranges: [range], together: true }
  const sums = await sumInChunks(storage, query, now)
  return sumsOf(sums.map(({ counter, n }) => ({ value: null, counters: new Map([[counter, n]]) })))
}

/** Sorts by size, with the row for all others last. */
const order = (a: BreakdownRow, b: BreakdownRow, size: (row: BreakdownRow) => number): number =>
  Number(a.value === null) - Number(b.value === null) || size(b) - size(a)

/**
 * Returns the metrics that can be counted by provider or category. Opens and clicks belong to emails, not to one of
 * their recipients.
 */
function metricsOf({ by, providers }: BreakdownRequest): readonly BreakdownMetric[] {
  if (by === 'bounce_category') return ['bounced']
  return by === 'provider' || providers ? RECIPIENT_COUNTERS : METRICS
}

const BOUNCES = ['bounced_permanent', 'bounced_transient', 'bounced_undetermined']
const countersFor = (metric: BreakdownMetric): readonly string[] =>
  metric === 'bounced' ? BOUNCES : [metric]

const sumOf = (metric: BreakdownMetric, counters: ReadonlyMap<string, number>): number =>
  countersFor(metric).reduce((sum, counter) => sum + (counters.get(counter) ?? 0), 0)

/** Returns the display names of rows by value. */
async function namesOf(
  storage: Deps,
  teamId: string,
  by: Breakdown,
  rows: readonly Counters[],
  now: number,
): Promise<Map<string, string>> {
  const ids = rows.flatMap(({ value }) => (typeof value === 'string' ? value : []))
  const named =
    by === 'domain'
      ? await storage.listDomains({ teamId }, now)
      : by === 'broadcast'
        ? await storage.broadcastNames({ teamId, ids }, now)
        : []
  return new Map(named.map(({ id, name }) => [id, name]))
}

async function countersOf(
  storage: Deps,
  teamId: string,
  request: BreakdownRequest,
  metrics: readonly BreakdownMetric[],
  now: number,
): Promise<Counters[]> {
  const { by, range, domainIds, providers } = request
  const about = { teamId, domainIds, providers }
  if (by === 'period') return byPeriod(storage, about, request, now)
  if (range.start >= range.end) return []
  if (by === 'bounce_category') return byCategory(storage, { ...about, ranges: [range] }, now)
  if (by === 'broadcast') return byBroadcast(storage, { ...about, ranges: [range] }, now)
  const counters = metrics.flatMap(countersFor)
  const asked = { ...about, range, by, counters, most: MOST_VALUES }
  const sums = await breakDownInChunks(storage, asked, now)
  const groups = Map.groupBy(sums, ({ value }) => value)
  return [...groups].map(([value, group]) => ({
    value,
    counters: new Map(group.map(({ counter, n }) => [counter, n])),
  }))
}

async function byPeriod(
  storage: Deps,
  about: Omit<MetricsQuery, 'ranges'>,
  { range, granularity, zone }: BreakdownRequest,
  now: number,
): Promise<Counters[]> {
  const periods = listPeriods(range, granularity, zone, MOST_PERIODS)
  if (!periods) throw invalid('granularity', `at most ${MOST_PERIODS} periods in the range`)
  const ranges = periods.map(({ start, end }) => ({
    start: Math.max(start, range.start),
    end: Math.min(end, range.end),
  }))
  const found = new Map(ranges.map(({ start }) => [start, new Map<string, number>()]))
  const asked = ranges.filter(({ start, end }) => start < end)
  const sums = await sumInChunks(storage, { ...about, ranges: asked, together: true }, now)
  for (const { start, counter, n } of sums) {
    const counters = found.get(start)!
    counters.set(counter, (counters.get(counter) ?? 0) + n)
  }
  return [...found].map(([value, counters]) => ({ value, counters }))
}

/** Returns the counters of the largest broadcasts, and those of all others as one row. */
async function byBroadcast(storage: Deps, query: MetricsQuery, now: number): Promise<Counters[]> {
  const sums = await storage.sumBroadcastMetrics(query, now)
  const rows = [...Map.groupBy(sums, ({ broadcastId }) => broadcastId)].map(([value, group]) => ({
    value,
    counters: sumsOf(group.map(({ counter, n }) => ({ value, counters: new Map([[counter, n]]) }))),
    size: group.reduce((sum, { n }) => sum + n, 0),
  }))
  rows.sort((a, b) => b.size - a.size)
  const rest = rows.slice(MOST_VALUES)
  const largest = rows.slice(0, MOST_VALUES)
  return rest.length === 0 ? largest : [...largest, { value: null, counters: sumsOf(rest) }]
}

/** Breaks bounces down by category; bounces without a category form the rest. */
async function byCategory(storage: Deps, query: MetricsQuery, now: number): Promise<Counters[]> {
  const counters = new Map<string, number>()
  for (const { counter, n } of await sumInChunks(storage, { ...query, together: true }, now))
    counters.set(counter, (counters.get(counter) ?? 0) + n)
  const told = BOUNCE_CATEGORIES.map(
    (category) => [category, counters.get(getBounceCategoryCounter(category)) ?? 0] as const,
  )
  const rest = sumOf('bounced', counters) - told.reduce((sum, [, n]) => sum + n, 0)
  return [...told, ['undetermined', rest] as const].map(([value, n]) => ({
    value,
    counters: new Map([['bounced_undetermined', n]]),
  }))
}
