/**
 * Sums metrics over long ranges in short calls, so that other readers aren't blocked: from precomputed sums of weeks,
 * days and hours where they exist, else from quarter-hours.
 */
import {
  QUARTER_HOUR_MS,
  startOfQuarterHour,
  startOfSum,
  SUM_LENGTHS,
  type BreakdownQuery,
  type BreakdownSum,
  type MetricsQuery,
  type MetricsSum,
  type Storage,
  type SumDimension,
} from '../storage/storage.ts'

/** Longest range of quarter-hours in one call, between UTC midnights: about 30,000 roll-ups with 200 domains, 10 ms. */
const PIECE = 86_400_000
/** Maximum number of sums per call: with rows for every domain or provider (about 3000 each), and with few rows. */
const [WIDE, NARROW] = [4, 1000]
/**
 * Maximum number of values listed separately per piece. If a team sends to more providers per day, the smallest are
 * combined.
 */
const PIECE_VALUES = 2000
/**
 * Maximum number of values kept while adding up pieces, and number that remain after pruning, so that ten years of days
 * don't fill the memory.
 */
const [MOST_KEPT, KEPT] = [20_000, 10_000]

interface Range {
  start: number
  end: number
}

/** A range within one piece; `of` is the start of the requested range that it belongs to. */
interface Cut extends Range {
  of: number
}

/** The ranges of one call: ranges of sums of one length, or of quarter-hours (undefined). */
export interface QueryChunk {
  length: number | undefined
  cuts: Cut[]
}

/** The usable sums: their lengths (longest first), until when they are complete, and how many per call. */
export interface UsableSums {
  lengths: readonly number[]
  until: number
  most: number
}

/** The value when no sums are usable. */
const NONE: UsableSums = { lengths: [], until: 0, most: 1 }

/** Covers the range with the longest sums that fit into it, in order. */
function cover(
  { start, end }: Range,
  lengths: readonly number[],
  until: number,
): (Range & { length?: number })[] {
  const [length, ...shorter] = lengths
  if (start >= end) return []
  if (length === undefined) return [{ start, end }]
  const from = startOfSum(length, start + length - 1)
  const to = startOfSum(length, Math.min(end, until))
  if (from >= to) return cover({ start, end }, shorter, until)
  return [
    ...cover({ start, end: from }, shorter, until),
    { start: from, end: to, length },
    ...cover({ start: to, end }, shorter, until),
  ]
}

/** Cuts ranges at midnights and groups them by day, in order. */
function byDay(cuts: readonly Cut[]): QueryChunk[] {
  const parts = cuts.flatMap(({ start, end, of }) => {
    const parts: Cut[] = []
    for (let at = start; at < end;) {
      const next = Math.min(end, (Math.floor(at / PIECE) + 1) * PIECE)
      parts.push({ start: at, end: next, of })
      at = next
    }
    return parts
  })
  const days = Map.groupBy(parts, ({ start }) => Math.floor(start / PIECE))
  return [...days.values()].map((cuts) => ({ length: undefined, cuts }))
}

/** Groups ranges of sums of one length, `most` per piece. */
function byCount(cuts: readonly Cut[], length: number, most: number): QueryChunk[] {
  const pieces: QueryChunk[] = []
  let room = 0
  for (const { start, end, of } of cuts)
    for (let at = start; at < end;) {
      if (room === 0) {
        pieces.push({ length, cuts: [] })
        room = most
      }
      const next = Math.min(end, at + room * length)
      pieces.at(-1)!.cuts.push({ start: at, end: next, of })
      room -= (next - at) / length
      at = next
    }
  return pieces
}

/** Plans the calls that cover all ranges, each part once. Ranges are whole quarter-hours, like the roll-ups. */
export function planChunks(
  ranges: readonly Range[],
  { lengths, until, most }: UsableSums = NONE,
): QueryChunk[] {
  const parts = ranges.flatMap(({ start, end }) => {
    if (start >= end) return []
    const whole = { start: startOfQuarterHour(start), end: startOfQuarterHour(end - 1) + QUARTER_HOUR_MS }
    return cover(whole, lengths, until).map((part) => ({ ...part, of: start }))
  })
  const groups = Map.groupBy(parts, ({ length }) => length)
  return [...groups].flatMap(([length, cuts]) =>
    length === undefined ? byDay(cuts) : byCount(cuts, length, most),
  )
}

type Reader = Pick<Storage, 'metricsSummed' | 'sumMetrics' | 'breakDownMetrics'>

/**
 * Finds the usable sums for a query; none when it filters by both domains and providers. `until` stays valid while
 * pieces are read: it only moves forward, and late counts are added to the sums, too.
 */
async function sumsFor(
  storage: Pick<Reader, 'metricsSummed'>,
  teamId: string,
  dimension: SumDimension | undefined,
  narrow: boolean,
  now: number,
): Promise<UsableSums> {
  if (dimension === undefined) return NONE
  const until = await storage.metricsSummed({ teamId }, now)
  return { lengths: SUM_LENGTHS[dimension], until, most: narrow ? NARROW : WIDE }
}

function dimensionOf({ together, domainIds, providers }: MetricsQuery): SumDimension | undefined {
  if (domainIds) return providers ? undefined : 'domain'
  if (providers) return 'provider'
  return together ? 'all' : 'domain'
}

/** Does the same as `sumMetrics`, piece by piece. */
export async function sumInChunks(
  storage: Pick<Reader, 'metricsSummed' | 'sumMetrics'>,
  query: MetricsQuery,
  now: number,
): Promise<MetricsSum[]> {
  const narrow = query.together === true || query.domainIds !== undefined
  const usable = await sumsFor(storage, query.teamId, dimensionOf(query), narrow, now)
  const sums = new Map<string, MetricsSum>()
  for (const { length, cuts } of planChunks(query.ranges, usable)) {
    const asked = new Map(cuts.map(({ start, of }) => [start, of]))
    const ranges = cuts.map(({ start, end }) => ({ start, end }))
    const found = await storage.sumMetrics({ ...query, ranges, length }, now)
    for (const { start: at, domainId, counter, n } of found) {
      const start = asked.get(at)!
      const key = `${start} ${domainId} ${counter}`
      const known = sums.get(key)
      if (known) known.n += n
      else sums.set(key, { start, domainId, counter, n })
    }
  }
  return [...sums.values()]
}

type Values = Map<string | null, Map<string, number>>

const sizeOf = (counters: ReadonlyMap<string, number>): number =>
  [...counters.values()].reduce((sum, n) => sum + n, 0)

function add(values: Values, value: string | null, counter: string, n: number): void {
  let counters = values.get(value)
  if (!counters) values.set(value, (counters = new Map<string, number>()))
  counters.set(counter, (counters.get(counter) ?? 0) + n)
}

/** Keeps the largest `most` values and combines the others as null. Equal ones are sorted by name. */
function largest(values: Values, most: number): Values {
  const told = [...values].flatMap(([value, counters]) =>
    value === null ? [] : [{ value, size: sizeOf(counters) }],
  )
  told.sort((a, b) => b.size - a.size || (a.value < b.value ? -1 : 1))
  const kept = new Set(told.slice(0, most).map(({ value }) => value))
  const folded: Values = new Map()
  for (const [value, counters] of values)
    for (const [counter, n] of counters)
      add(folded, value !== null && kept.has(value) ? value : null, counter, n)
  return folded
}

/**
 * Finds the sums usable for a breakdown: those by the same single dimension. Sums by tag and one other dimension exist
 * per day; they are written with the quarter-hours, so they are never behind.
 */
function sumsForBreakdown(
  storage: Pick<Reader, 'metricsSummed'>,
  { teamId, by, domainIds, providers }: BreakdownQuery,
  now: number,
): UsableSums | Promise<UsableSums> {
  if (by === 'tag') return domainIds && providers ? NONE : { lengths: [PIECE], until: Infinity, most: WIDE }
  const dimension = (by === 'domain' ? providers : domainIds) ? undefined : by
  return sumsFor(storage, teamId, dimension, false, now)
}

/** Does the same as `breakDownMetrics`, piece by piece. */
export async function breakDownInChunks(
  storage: Pick<Reader, 'metricsSummed' | 'breakDownMetrics'>,
  query: BreakdownQuery,
  now: number,
): Promise<BreakdownSum[]> {
  const usable = await sumsForBreakdown(storage, query, now)
  let values: Values = new Map()
  for (const { length, cuts } of planChunks([query.range], usable))
    for (const { start, end } of cuts) {
      const asked = { ...query, range: { start, end }, length, most: PIECE_VALUES }
      const sums = await storage.breakDownMetrics(asked, now)
      for (const { value, counter, n } of sums) add(values, value, counter, n)
      if (values.size > MOST_KEPT) values = largest(values, KEPT)
    }
  return [...largest(values, query.most)].flatMap(([value, counters]) =>
    [...counters].map(([counter, n]) => ({ value, counter, n })),
  )
}

/** An ID that no domain has, for a region without domains. */
const NO_DOMAIN = '00000000-0000-0000-0000-000000000000'

/** If a request names a region, limits it to the team's current domains in that region. */
export async function limitToRegion<
  R extends { domainIds: string[] | undefined; region: string | undefined },
>(storage: Pick<Storage, 'listDomains'>, teamId: string, request: R, now: number): Promise<R> {
  const { region, domainIds } = request
  if (region === undefined) return request
  const own = (await storage.listDomains({ teamId }, now)).filter((domain) => domain.region === region)
  const wanted = own.map(({ id }) => id).filter((id) => domainIds?.includes(id) ?? true)
  return { ...request, domainIds: wanted.length > 0 ? wanted : [NO_DOMAIN] }
}
