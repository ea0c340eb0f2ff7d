/** Metrics: GET /emails/metrics and `posthaste metrics`. */
import { refuse } from '../mail/refusals.ts'
import type { Storage } from '../storage/storage.ts'
import { computeMetrics, type Metric } from './metrics-names.ts'
import { limitToRegion, sumInChunks } from './metrics-pieces.ts'
import { listPeriods, type Granularity, type Period } from './metrics-periods.ts'
import type { Dimension, MetricsRequest } from './metrics-query.ts'

export { METRICS } from './metrics-names.ts'
export { breakDownInChunks, sumInChunks } from './metrics-pieces.ts'
export { computeBreakdown, parseBreakdownQuery } from './metrics-breakdown.ts'
export { parseMetricsQuery } from './metrics-query.ts'

/** The metrics for one combination of the requested dimensions; fields of others are absent. */
export interface MetricsRow {
  /** Start of the period, Unix milliseconds. */
  period?: number
  domainId?: string
  /** Null for a removed domain. */
  domainName?: string | null
  emailId?: string
  broadcastId?: string
  /** Null for a deleted broadcast. */
  broadcastName?: string | null
  metrics: Record<string, number>
}

/** The response. Times in Unix milliseconds. */
export interface MetricsReport {
  range: Period
  metrics: Metric[]
  dimensions: Dimension[]
  granularity: Granularity
  totals: Record<string, number>
  /** Rows by period, domain, and email or broadcast; null when no dimension was requested. */
  rows: MetricsRow[] | null
}

/** Maximum rows and periods in a response (reference: wire format §2.2). */
const MOST_ROWS = 10_000
/** Maximum number of events read for metrics by email: 250 ms of the reading thread. */
const MOST_EVENTS = 100_000

type Deps = Pick<
  Storage,
  | 'metricsSummed'
  | 'sumMetrics'
  | 'sumEmailMetrics'
  | 'sumBroadcastMetrics'
  | 'broadcastNames'
  | 'listDomains'
>

/** A sum of one counter, read from the roll-ups or counted from events. */
interface Sum {
  start: number
  domainId: string
  emailId?: string
  broadcastId?: string
  counter: string
  n: number
}

const narrower = (parameter: string, expected: string) => refuse('invalid_parameter', { parameter, expected })

/**
 * Computes the report from the roll-ups; by email, from the events.
 * @throws Refusal when the response would be too long
 */
export async function computeMetricsReport(
  storage: Deps,
  teamId: string,
  given: MetricsRequest,
  now: number,
): Promise<MetricsReport> {
  const request = await limitToRegion(storage, teamId, given, now)
  const { range, dimensions, granularity, metrics } = request
  const ranges = rangesOf(request)
  const sums = await sumsOf(storage, teamId, request, ranges, now)
  const totals = computeMetrics(metrics, countersOf(sums))
  const about = { range, metrics, dimensions, granularity, totals }
  if (dimensions.length === 0) return { ...about, rows: null }
  const names = await namesOf(storage, teamId, sums, now)
  const rows = rowsOf(sums, request, ranges, names)
  if (rows.length > MOST_ROWS)
    throw narrower(
      'start_date',
      `a shorter range or fewer dimensions; the result has more than ${MOST_ROWS} rows`,
    )
  return { ...about, rows }
}

/** Returns the requested periods, cut to the requested range. */
function rangesOf({ range, dimensions, granularity, zone }: MetricsRequest): Period[] {
  if (!dimensions.includes('period')) return [range]
  const periods = listPeriods(range, granularity, zone, MOST_ROWS)
  if (!periods) throw narrower('granularity', `at most ${MOST_ROWS} periods in the range`)
  return periods.map(({ start, end }) => ({
    start: Math.max(start, range.start),
    end: Math.min(end, range.end),
  }))
}

async function sumsOf(
  storage: Deps,
  teamId: string,
  { dimensions, domainIds, emailIds, broadcastIds }: MetricsRequest,
  ranges: Period[],
  now: number,
): Promise<Sum[]> {
  const together = !dimensions.includes('domain')
  const query = { teamId, domainIds, ranges: ranges.filter(({ start, end }) => start < end), together }
  if (query.ranges.length === 0) return []
  if (broadcastIds || dimensions.includes('broadcast'))
    return storage.sumBroadcastMetrics({ ...query, broadcastIds }, now)
  if (!emailIds && !dimensions.includes('email')) return sumInChunks(storage, query, now)
  const sums = await storage.sumEmailMetrics({ ...query, emailIds, mostEvents: MOST_EVENTS }, now)
  if (!sums)
    throw narrower('start_date', 'a shorter range or at most 100 `email_id`; the range has too many emails')
  return sums
}

/** Returns the names of counted domains and broadcasts by id. */
async function namesOf(
  storage: Deps,
  teamId: string,
  sums: readonly Sum[],
  now: number,
): Promise<Map<string, string>> {
  const ids = [...new Set(sums.flatMap(({ broadcastId }) => broadcastId ?? []))]
  const broadcasts = ids.length === 0 ? [] : await storage.broadcastNames({ teamId, ids }, now)
  return new Map(
    [...(await storage.listDomains({ teamId }, now)), ...broadcasts].map(({ id, name }) => [id, name]),
  )
}

function countersOf(sums: readonly Sum[]): Map<string, number> {
  const counters = new Map<string, number>()
  for (const { counter, n } of sums) counters.set(counter, (counters.get(counter) ?? 0) + n)
  return counters
}

function rowsOf(
  sums: readonly Sum[],
  { dimensions, metrics }: MetricsRequest,
  ranges: readonly Period[],
  names: ReadonlyMap<string, string>,
): MetricsRow[] {
  const has = (dimension: Dimension) => dimensions.includes(dimension)
  const keyOf = ({ start, domainId, emailId, broadcastId }: Omit<Sum, 'counter' | 'n'>) =>
    JSON.stringify([
      has('period') ? start : 0,
      has('domain') ? domainId : '',
      has('email') ? emailId : '',
      has('broadcast') ? broadcastId : '',
    ])
  const groups = Map.groupBy(sums, keyOf)
  // A chart over time also needs periods without events.
  if (dimensions.length === 1 && has('period'))
    for (const { start } of ranges) {
      const key = keyOf({ start, domainId: '' })
      if (!groups.has(key)) groups.set(key, [{ start, domainId: '', counter: '', n: 0 }])
    }
  const ordered = [...groups.values()].map((group) => ({ group, first: group[0]! }))
  ordered.sort(
    ({ first: a }, { first: b }) =>
      a.start - b.start ||
      (names.get(a.domainId) ?? '').localeCompare(names.get(b.domainId) ?? '') ||
      (a.emailId ?? '').localeCompare(b.emailId ?? '') ||
      (a.broadcastId ?? '').localeCompare(b.broadcastId ?? ''),
  )
  return ordered.map(({ group, first: { start, domainId, emailId, broadcastId } }) => ({
    ...(has('period') ? { period: start } : {}),
    ...(has('domain') ? { domainId, domainName: names.get(domainId) ?? null } : {}),
    ...(has('email') && emailId !== undefined ? { emailId } : {}),
    ...(has('broadcast') && broadcastId !== undefined
      ? { broadcastId, broadcastName: names.get(broadcastId) ?? null }
      : {}),
    metrics: computeMetrics(metrics, countersOf(group)),
  }))
}

/** Length of the range that is recomputed per transaction: a UTC day, which has its own sums. */
const STEP = 24 * 3_600_000

/**
 * The result of recomputing: numbers that were wrong, and quarter-hours that stay because their events were removed.
 */
export interface RecomputeResult {
  changed: number
  left: number
}

/** Recomputes the roll-ups of all teams from the events, day by day, so that mail can be accepted in between. */
export async function recomputeMetrics(
  storage: Pick<Storage, 'metricsSpans' | 'recomputeMetrics'>,
  now: number,
): Promise<RecomputeResult> {
  const all = { changed: 0, left: 0 }
  for (const { teamId, first, last } of await storage.metricsSpans({}, now)) {
    for (let start = Math.floor(first / STEP) * STEP; start <= last; start += STEP) {
      const { changed, left } = await storage.recomputeMetrics({ teamId, start, end: start + STEP }, now)
      all.changed += changed
      all.left += left
    }
  }
  return all
}
