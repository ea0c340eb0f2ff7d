/** What became of the mail, told apart by one thing: GET /emails/metrics/breakdown. From the roll-ups alone. */
import { CATEGORIES } from '../mail/bounce.ts'
import { bouncedAbout, COUNTED, COUNTED_BY_RECIPIENT, type Counted } from '../mail/counted.ts'
import { refuse } from '../mail/refusals.ts'
import { BREAKDOWNS } from '../api/metrics.ts'
import type { MetricsQuery, Storage } from '../storage/storage.ts'
import { breakDownInPieces, sumInPieces } from './metrics-pieces.ts'
import { periodsOf, type Granularity, type Period } from './metrics-periods.ts'
import { catchUp, type TagStorage } from './metrics-tags.ts'
import { readMetricsQuery, type MetricsRequest } from './metrics-query.ts'

export type Breakdown = (typeof BREAKDOWNS)[number]

/** What is counted: the emails behind each number can be searched for by the same word, but for the last two. */
export type BreakdownMetric = Counted | 'unique_opened' | 'unique_clicked'
const METRICS: readonly BreakdownMetric[] = [...COUNTED, 'unique_opened', 'unique_clicked']

/** Domains, providers and tags that are told one by one: more than fit a screen, few enough to be drawn. */
const MOST_VALUES = 50
/** Periods in one answer: ten years of days, or half a year of hours. */
const MOST_PERIODS = 4000
const MOST_PROVIDERS = 100
/** Longest id of a provider: a domain's name (RFC 1035 §2.3.4). */
const LONGEST_PROVIDER = 255

/** A sound question. */
export interface BreakdownRequest extends Pick<
  MetricsRequest,
  'range' | 'zone' | 'granularity' | 'domainIds'
> {
  by: Breakdown
  /** Undefined: all. */
  providers: string[] | undefined
}

/** One row; `value` is the start of a period in Unix milliseconds, an id, a tag as the search has it, a category, or null for all the others. */
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
  /** By tag, where not all events are counted yet: when the first of the others happened. Null: all are. */
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

/** What is known of one row: counters by their names. */
interface Counters {
  value: BreakdownRow['value']
  counters: Map<string, number>
}

const invalid = (parameter: string, expected: string) => refuse('invalid_parameter', { parameter, expected })

/**
 * Reads the query; the range, the time zone, the granularity and the domains are those of GET /emails/metrics.
 * @throws Refusal naming the parameter and what it takes
 */
export function readBreakdownQuery(query: unknown, now: number): BreakdownRequest {
  const { by = 'domain', provider, ...given } = query as Record<string, unknown>
  const { start_date, end_date, timezone, granularity: length, domain_id } = given
  const known = { start_date, end_date, timezone, granularity: length, domain_id }
  const { range, zone, granularity, domainIds } = readMetricsQuery(known, now)
  const word = typeof by === 'string' ? by.toLowerCase() : by
  const found = BREAKDOWNS.find((one) => one === word)
  if (found === undefined) throw invalid('by', `one of ${BREAKDOWNS.join(', ')}`)
  const providers = readProviders(provider)
  if (found === 'broadcast' && providers)
    throw invalid('provider', 'no provider together with `by=broadcast`')
  return { range, zone, granularity, domainIds, by: found, providers }
}

function readProviders(given: unknown): string[] | undefined {
  if (given === undefined || given === '') return undefined
  const ids = [given].flat().flatMap((one) => (typeof one === 'string' ? one.split(',') : ['']))
  if (ids.length > MOST_PROVIDERS || ids.some((id) => id === '' || id.length > LONGEST_PROVIDER))
    throw invalid('provider', `up to ${MOST_PROVIDERS} comma-separated provider IDs`)
  return [...new Set(ids)]
}

/**
 * Answers from the roll-ups, so the cost depends on the length of time.
 * @param providerNames names for people, by the id of the provider
 * @throws Refusal when there would be too many periods
 */
export async function reportBreakdown(
  storage: Deps,
  teamId: string,
  request: BreakdownRequest,
  providerNames: ReadonlyMap<string, string>,
  now: number,
): Promise<BreakdownReport> {
  const { by, range, granularity } = request
  const metrics = metricsOf(request)
  const countedUntil = by === 'tag' ? await catchUp(storage, now) : null
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

/** What all rows come to. */
function sumsOf(rows: readonly Counters[]): Map<string, number> {
  const sums = new Map<string, number>()
  for (const { counters } of rows)
    for (const [counter, n] of counters) sums.set(counter, (sums.get(counter) ?? 0) + n)
  return sums
}

/** What all mail comes to: an email has no tag, or several. */
async function totalOf(
  storage: Deps,
  teamId: string,
  { range, domainIds, providers }: BreakdownRequest,
  now: number,
): Promise<Map<string, number>> {
  if (range.start >= range.end) return new Map()
  const query = { teamId, domainIds, providers, ranges: [range], together: true }
  const sums = await sumInPieces(storage, query, now)
  return sumsOf(sums.map(({ counter, n }) => ({ value: null, counters: new Map([[counter, n]]) })))
}

/** The largest first, and what stands for all the others last. */
const order = (a: BreakdownRow, b: BreakdownRow, size: (row: BreakdownRow) => number): number =>
  Number(a.value === null) - Number(b.value === null) || size(b) - size(a)

/** What a provider or a category leaves to count: opens and clicks are of emails, not of one of their recipients. */
function metricsOf({ by, providers }: BreakdownRequest): readonly BreakdownMetric[] {
  if (by === 'bounce_category') return ['bounced']
  return by === 'provider' || providers ? COUNTED_BY_RECIPIENT : METRICS
}

const BOUNCES = ['bounced_permanent', 'bounced_transient', 'bounced_undetermined']
const countersFor = (metric: BreakdownMetric): readonly string[] =>
  metric === 'bounced' ? BOUNCES : [metric]

const sumOf = (metric: BreakdownMetric, counters: ReadonlyMap<string, number>): number =>
  countersFor(metric).reduce((sum, counter) => sum + (counters.get(counter) ?? 0), 0)

/** Names of what rows are about, by the value of the row. */
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
  const sums = await breakDownInPieces(storage, asked, now)
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
  const periods = periodsOf(range, granularity, zone, MOST_PERIODS)
  if (!periods) throw invalid('granularity', `at most ${MOST_PERIODS} periods in the range`)
  const ranges = periods.map(({ start, end }) => ({
    start: Math.max(start, range.start),
    end: Math.min(end, range.end),
  }))
  const found = new Map(ranges.map(({ start }) => [start, new Map<string, number>()]))
  const asked = ranges.filter(({ start, end }) => start < end)
  const sums = await sumInPieces(storage, { ...about, ranges: asked, together: true }, now)
  for (const { start, counter, n } of sums) {
    const counters = found.get(start)!
    counters.set(counter, (counters.get(counter) ?? 0) + n)
  }
  return [...found].map(([value, counters]) => ({ value, counters }))
}

/** The largest broadcasts, and all the others as one. */
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

/** By what the bounces were about; those of which that was not told are what is left. */
async function byCategory(storage: Deps, query: MetricsQuery, now: number): Promise<Counters[]> {
  const counters = new Map<string, number>()
  for (const { counter, n } of await sumInPieces(storage, { ...query, together: true }, now))
    counters.set(counter, (counters.get(counter) ?? 0) + n)
  const told = CATEGORIES.map((category) => [category, counters.get(bouncedAbout(category)) ?? 0] as const)
  const rest = sumOf('bounced', counters) - told.reduce((sum, [, n]) => sum + n, 0)
  return [...told, ['undetermined', rest] as const].map(([value, n]) => ({
    value,
    counters: new Map([['bounced_undetermined', n]]),
  }))
}
