/** Compares the first hours of a broadcast with the team's earlier broadcasts. */
import type { BroadcastReach, CurvePoint, EarlierRates } from '../mail/broadcast.ts'
import { startOfQuarterHour, type Broadcast } from '../storage/storage.ts'
import type { BroadcastDeps } from './drafts.ts'

const HOUR = 3_600_000
/** Length of the curve in hours. */
const HOURS = 48
/** Number of earlier broadcasts to compare with. */
const MOST_EARLIER = 10
/**
 * How long the reach of an earlier broadcast is cached, in milliseconds, and for how many broadcasts. It hardly
 * changes.
 */
const KEPT_MS = 600_000
const MOST_KEPT = 1000

/** The last event of emails before their first attempt, and of emails that were delivered. */
const WAITING = ['queued', 'scheduled']
const RECEIVED = ['delivered', 'opened', 'clicked', 'complained']

/** Returns totals by hour, from the quarter hour in which sending began. Empty before that. */
export async function computeHourlyTotals(
  { storage, clock }: BroadcastDeps,
  { id, teamId, startedAt }: Broadcast,
): Promise<CurvePoint[]> {
  if (startedAt === null) return []
  const now = clock.now()
  const start = startOfQuarterHour(startedAt)
  const hours = Math.max(1, Math.min(HOURS, Math.ceil((now - start) / HOUR)))
  const ranges = Array.from({ length: hours }, (_, n) => ({
    start: start + n * HOUR,
    end: start + (n + 1) * HOUR,
  }))
  const sums = await storage.sumBroadcastMetrics({ teamId, broadcastIds: [id], ranges }, now)
  const total = { delivered: 0, unique_opened: 0, unique_clicked: 0 }
  const byStart = Map.groupBy(sums, (one) => one.start)
  return ranges.map((range) => {
    for (const { counter, n } of byStart.get(range.start) ?? [])
      if (Object.hasOwn(total, counter)) total[counter as keyof typeof total] += n
    const { delivered, unique_opened: opened, unique_clicked: clicked } = total
    return { at: Math.min(range.end, Math.max(now, startedAt)), delivered, opened, clicked }
  })
}

/**
 * Creates a function that returns the median rates of the last sent broadcasts that were created before a given one.
 * @param refreshed updates the counts of a broadcast if they are old
 */
export function createEarlierRatesLoader(
  { storage, clock }: BroadcastDeps,
  refreshed: (one: Broadcast) => Promise<Broadcast>,
): (one: Broadcast) => Promise<EarlierRates> {
  const kept = new Map<string, { at: number; reach: BroadcastReach }>()
  const reachOf = async (id: string): Promise<BroadcastReach> => {
    const now = clock.now()
    const known = kept.get(id)
    if (known && Math.abs(now - known.at) < KEPT_MS) return known.reach
    const reach = await storage.broadcastReach({ id }, now)
    if (kept.size >= MOST_KEPT) kept.clear()
    kept.set(id, { at: now, reach })
    return reach
  }
  return async ({ id, teamId }) => {
    const wanted = { teamId, limit: MOST_EARLIER, after: id, status: 'sent' as const }
    const { items } = await storage.listBroadcasts(wanted, clock.now())
    const rates: ReturnType<typeof ratesOf>[] = []
    // One after the other, so that other reads can run in between.
    for (const one of items) rates.push(ratesOf(await refreshed(one), await reachOf(one.id)))
    const of = (name: keyof (typeof rates)[number]) => median(rates.flatMap((one) => one[name] ?? []))
    return {
      broadcasts: rates.length,
      delivered: of('delivered'),
      bounced: of('bounced'),
      opened: of('opened'),
      clicked: of('clicked'),
      unsubscribed: of('unsubscribed'),
      complained: of('complained'),
    }
  }
}

/** Returns the rates of a broadcast; null where nothing was attempted or delivered. */
function ratesOf({ counts }: Pick<Broadcast, 'counts'>, reach: BroadcastReach) {
  const sum = (events: readonly string[]) => events.reduce((all, event) => all + (counts[event] ?? 0), 0)
  const tried = sum(Object.keys(counts)) - sum(['suppressed', ...WAITING])
  const delivered = sum(RECEIVED)
  const share = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole)
  return {
    delivered: share(delivered, tried),
    bounced: share(sum(['bounced']), tried),
    opened: share(reach.opened, delivered),
    clicked: share(reach.clicked, delivered),
    unsubscribed: share(reach.unsubscribed, delivered),
    complained: share(sum(['complained']), delivered),
  }
}

function median(numbers: readonly number[]): number | null {
  const sorted = numbers.toSorted((a, b) => a - b)
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]]
  return low === undefined || high === undefined ? null : (low + high) / 2
}
