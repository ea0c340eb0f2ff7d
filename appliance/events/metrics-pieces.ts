/** Sums over a long time, a day in each call: a month of a large team is millions of roll-ups, and between two calls others read. */
import type { BreakdownQuery, BreakdownSum, MetricsQuery, MetricsSum, Storage } from '../storage/storage.ts'

/** Longest time of one call, from one midnight (UTC) to the next: some 30 000 roll-ups with 200 domains, 10 ms. */
const PIECE = 86_400_000
/** Values of which one piece tells the sums one by one. A team that mails more providers a day has the smallest in what stands for the rest. */
const PIECE_VALUES = 2000
/** Values that are kept while pieces are added up, and how many are left when there are more: ten years of days must not fill the memory. */
const [MOST_KEPT, KEPT] = [20_000, 10_000]

interface Range {
  start: number
  end: number
}

/** A range within one day; `of` is the start of the asked range that it is part of. */
interface Cut extends Range {
  of: number
}

/** The ranges, cut at the midnights; those of one day together, in their order. */
export function piecesOf(ranges: readonly Range[]): Cut[][] {
  const cuts = ranges.flatMap(({ start, end }) => {
    const parts: Cut[] = []
    for (let at = start; at < end;) {
      const next = Math.min(end, (Math.floor(at / PIECE) + 1) * PIECE)
      parts.push({ start: at, end: next, of: start })
      at = next
    }
    return parts
  })
  return [...Map.groupBy(cuts, ({ start }) => Math.floor(start / PIECE)).values()]
}

/** The answer of `sumMetrics`, in pieces. */
export async function sumInPieces(
  storage: Pick<Storage, 'sumMetrics'>,
  query: MetricsQuery,
  now: number,
): Promise<MetricsSum[]> {
  const sums = new Map<string, MetricsSum>()
  for (const piece of piecesOf(query.ranges)) {
    const asked = new Map(piece.map(({ start, of }) => [start, of]))
    const ranges = piece.map(({ start, end }) => ({ start, end }))
    for (const { start: at, domainId, counter, n } of await storage.sumMetrics({ ...query, ranges }, now)) {
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

/** The largest `most` values, and the others as one, null. Of two of one size the one that sorts first. */
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

/** The answer of `breakDownMetrics`, in pieces. */
export async function breakDownInPieces(
  storage: Pick<Storage, 'breakDownMetrics'>,
  query: BreakdownQuery,
  now: number,
): Promise<BreakdownSum[]> {
  let values: Values = new Map()
  for (const [cut] of piecesOf([query.range])) {
    const range = { start: cut!.start, end: cut!.end }
    const sums = await storage.breakDownMetrics({ ...query, range, most: PIECE_VALUES }, now)
    for (const { value, counter, n } of sums) add(values, value, counter, n)
    if (values.size > MOST_KEPT) values = largest(values, KEPT)
  }
  return [...largest(values, query.most)].flatMap(([value, counters]) =>
    [...counters].map(([counter, n]) => ({ value, counter, n })),
  )
}
